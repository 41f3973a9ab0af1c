/** Reads the reservations and holds of all programs, shard by shard, each record once. */
import pLimit from "p-limit";
import { DomainError } from "../../domain/errors.ts";
import type { Hold } from "../../domain/hold.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { heldShardCount } from "../ports/holds.ts";
import { inBatches, type Page, type PageRequest, type Window } from "../ports/pages.ts";
import { shardCount } from "../ports/points.ts";
import type { RecordName, ReservationShard } from "../ports/reservations.ts";
import { readAllPrograms } from "../programs/queries.ts";
import { storeOutages } from "../shared/suspects.ts";
import type { SweepPage } from "../shared/sweep.ts";

/** A part of the index by state: the reservations of a state, or the holds that are HELD. */
type Part = Pick<ReservationShard, "state" | "unsynced"> | { readonly state: "HELD" };

type RecordOf<P extends Part> = P extends { readonly state: "HELD" } ? Hold : Reservation;

/** Which records to read. */
interface Selection<P extends Part> {
  readonly window: Window;
  /** The parts of the index by state, in their order. */
  readonly parts: readonly P[];
  /** Whether to read the records of a part of a program. */
  isWanted(program: Program, part: P): boolean;
}

/** A part of the records: from a cursor up to the shard of another cursor, which is excluded. */
export interface RecordLane {
  readonly cursor: string;
  readonly until: string;
}

/** A shard of a part. */
interface Shard<P extends Part> {
  readonly part: P;
  readonly shard: number;
}

/** A place in the records. Cursors contain it as JSON. */
interface ShardPlace {
  readonly programId: string;
  /** The index of the shard among those of all parts (`shardsOf`). */
  readonly shard: number;
  /** The reader's cursor within the shard. */
  readonly after?: string | undefined;
}

/** A page, and the shard that could not be read, if it was not an outage. */
type RecordPage<P extends Part> = SweepPage<RecordOf<P>, RecordName>;

/** The cursor behind all records: no program id is greater. */
const behindAll = JSON.stringify({ programId: "~", shard: 0 } satisfies ShardPlace);

export const nameOf = (record: RecordName): RecordName =>
  "holdId" in record
    ? { programId: record.programId, holdId: record.holdId }
    : { programId: record.programId, reservationId: record.reservationId };

/** The largest number of records in a page. */
export const recordPageSize = 200;

/** The records that become due: pending reservations, those not synced included, and holds. */
export const dueParts = [
  { state: "PENDING", unsynced: false },
  { state: "PENDING", unsynced: true },
  { state: "HELD" },
] as const satisfies readonly Part[];

/**
 * How many shards are read at once. Most of them are empty, so a sweep over many programs mainly
 * waits for these reads.
 */
const shardsAtOnce = 16;

/** So many reads at a time for all lanes of this process, which has more to do than these. */
const inTurn = pLimit(2 * shardsAtOnce);

/**
 * Returns a function that reads the page at a cursor; pages may be empty. It reads the following
 * shards ahead, up to the cursor `until`. The page of a shard that cannot be read says so, and the
 * shards behind it are read all the same. An outage fails the call that comes to it.
 */
export function recordPages<P extends Part>(
  deps: Pick<Deps, "reader">,
  { window, parts, isWanted }: Selection<P>,
  until: string = behindAll,
): (cursor: string | undefined) => Promise<RecordPage<P>> {
  const shards = shardsOf(parts);
  const end = placeAt(until);
  let programs: readonly Program[] | undefined;
  /** The reads that have begun, by their cursors, and the place where the next one begins. */
  const reads = new Map<string, Promise<Page<RecordOf<P>>>>();
  let ahead: ShardPlace | undefined;

  /** The place after a shard: its next shard, or the first one of the next program. */
  function nextPlace({ programId, shard }: ShardPlace): ShardPlace | undefined {
    const next =
      shard + 1 < shards.length
        ? { programId, shard: shard + 1 }
        : firstPlace(programs?.find((each) => each.programId > programId));
    return next && isBefore(next, end) ? next : undefined;
  }

  function beginRead(place: ShardPlace): void {
    const { programId, after } = place;
    const { part, shard } = shards[place.shard] as Shard<P>;
    const program = programs?.find((each) => each.programId === programId);
    const name = { programId, shard };
    const request = { size: recordPageSize, cursor: after };
    const page =
      program && !isWanted(program, part)
        ? Promise.resolve({ items: [] })
        : inTurn(() => readPart(deps, part, name, window, request));
    // The call that comes to this place gets the error; until then nobody waits for it.
    page.catch(() => {});
    reads.set(JSON.stringify(place), page);
  }

  return async (cursor) => {
    const isFirst = programs === undefined;
    programs ??= await wantedPrograms(deps, parts, isWanted);
    const place = cursor === undefined ? firstPlace(programs[0]) : placeAt(cursor);
    if (!place || !isBefore(place, end)) return { items: [] };
    if (isFirst) ahead = nextPlace(place);
    const key = JSON.stringify(place);
    if (!reads.has(key)) beginRead(place);
    while (reads.size < shardsAtOnce && ahead) {
      beginRead(ahead);
      ahead = nextPlace(ahead);
    }
    const read = reads.get(key) as Promise<Page<RecordOf<P>>>;
    reads.delete(key);
    const page: RecordPage<P> = await read.catch((error) =>
      unreadPage(place.programId, shards[place.shard] as Shard<P>, error),
    );
    const next = page.cursor === undefined ? nextPlace(place) : { ...place, after: page.cursor };
    return {
      items: page.items,
      ...(page.unread && { unread: page.unread }),
      ...(next && { cursor: JSON.stringify(next) }),
    };
  };
}

/**
 * Divides what is left of a sweep, from a cursor up to `until`, into lanes: up to `ways` of the
 * program at the cursor, and as many of the programs behind it, so that these do not wait for a
 * program with very many records. Into one way it divides only inside a shard of many pages: into
 * the rest of that shard and what is behind it.
 */
export async function divideIntoLanes<P extends Part>(
  deps: Pick<Deps, "reader">,
  { parts, isWanted }: Pick<Selection<P>, "parts" | "isWanted">,
  { cursor, until = behindAll }: { readonly cursor: string; readonly until?: string | undefined },
  ways: number,
): Promise<RecordLane[]> {
  const place = placeAt(cursor);
  if (ways === 1 && place.after === undefined) return [{ cursor, until }];
  const end = placeAt(until);
  const programs = await wantedPrograms(deps, parts, isWanted);
  const programIds = programs.map(({ programId }) => programId);
  const all = [...new Set([place.programId, ...programIds])]
    .sort()
    .flatMap((programId) => shardsOf(parts).map((_, shard) => ({ programId, shard })));
  const left = all.filter((each) => !isBefore(each, place) && isBefore(each, end));
  const own = left.filter(({ programId }) => programId === place.programId);
  const firsts =
    ways === 1
      ? left.slice(0, 2)
      : [own, left.slice(own.length)].flatMap((places) =>
          inBatches(places, Math.ceil(places.length / ways)).map(([first]) => first),
        );
  const starts = firsts.map((first) => JSON.stringify(first));
  starts[0] = cursor;
  return starts.map((start, i) => ({ cursor: start, until: starts[i + 1] ?? until }));
}

function readPart<P extends Part>(
  { reader }: Pick<Deps, "reader">,
  part: P,
  { programId, shard }: Pick<ReservationShard, "programId" | "shard">,
  window: Window,
  page: PageRequest,
): Promise<Page<RecordOf<P>>> {
  const read: Promise<Page<Reservation | Hold>> =
    part.state === "HELD"
      ? reader.heldInShard(programId, shard, window, page)
      : reader.reservationsInShard({ ...part, programId, shard }, window, page);
  return read as Promise<Page<RecordOf<P>>>;
}

/** Returns the programs of which records are read, in the order of their ids. */
async function wantedPrograms<P extends Part>(
  deps: Pick<Deps, "reader">,
  parts: readonly P[],
  isWanted: Selection<P>["isWanted"],
): Promise<Program[]> {
  const programs = await readAllPrograms(deps);
  return programs
    .filter((program) => parts.some((part) => isWanted(program, part)))
    .sort((a, b) => (a.programId < b.programId ? -1 : 1));
}

/** The page of a shard that cannot be read. Throws the error of an outage. */
function unreadPage(
  programId: string,
  { part, shard }: Shard<Part>,
  error: unknown,
): RecordPage<never> {
  if (error instanceof DomainError && storeOutages.has(error.reason)) throw error;
  const name =
    part.state === "HELD"
      ? { programId, holdId: `(shard ${shard} of holds)` }
      : { programId, reservationId: `(shard ${shard} of ${stateOf(part)})` };
  return { items: [], unread: { name, error } };
}

const stateOf = ({ state, unsynced }: Pick<ReservationShard, "state" | "unsynced">): string =>
  unsynced ? `${state}, not synced` : state;

/** The shards of all parts, in their order. */
const shardsOf = <P extends Part>(parts: readonly P[]): Shard<P>[] =>
  parts.flatMap((part) => {
    const length = part.state === "HELD" ? heldShardCount : shardCount;
    return Array.from({ length }, (_, shard) => ({ part, shard }));
  });

const placeAt = (cursor: string): ShardPlace => JSON.parse(cursor);

const isBefore = (a: ShardPlace, b: ShardPlace): boolean =>
  a.programId === b.programId ? a.shard < b.shard : a.programId < b.programId;

const firstPlace = (program: Program | undefined): ShardPlace | undefined =>
  program && { programId: program.programId, shard: 0 };
