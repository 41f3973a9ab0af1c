/** Reads the reservations and holds of all programs, shard by shard, each record once. */
import pLimit from "p-limit";
import { DomainError } from "../../domain/errors.ts";
import type { Hold } from "../../domain/hold.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { heldShardCount } from "../ports/holds.ts";
import { inBatches, type Page, type PageRequest, type Window } from "../ports/pages.ts";
import { shardCount } from "../ports/points.ts";
import type { RecordName } from "../ports/reservations.ts";
import { storeOutages } from "../shared/suspects.ts";
import type { SweepPage } from "../shared/sweep.ts";

/** The records that become due: pending reservations, and holds. */
type DueState = "PENDING" | "HELD";

type DueRecord = Reservation | Hold;

/** Which records to read. */
export interface Selection {
  readonly window: Window;
  /** Returns the programs whose records are read, by id. */
  programs(): Promise<readonly Program[]>;
  /** Whether to read what a program has in a state. */
  isWanted(program: Program, state: DueState): boolean;
}

/** A part of the records: from a cursor up to the shard of another cursor, which is excluded. */
export interface RecordLane {
  readonly cursor: string;
  readonly until: string;
}

/** A shard of the records of a program in a state. */
interface Shard {
  readonly state: DueState;
  readonly shard: number;
}

/** The shards of a program in the order in which they are read. Cursors contain their indexes. */
const shards: readonly Shard[] = [
  ...Array.from({ length: shardCount }, (_, shard) => ({ state: "PENDING" as const, shard })),
  ...Array.from({ length: heldShardCount }, (_, shard) => ({ state: "HELD" as const, shard })),
];

/** A place in the records. Cursors contain it as JSON. */
interface ShardPlace {
  readonly programId: string;
  /** The index of the shard (`shards`). */
  readonly shard: number;
  /** The reader's cursor within the shard. */
  readonly after?: string | undefined;
}

/** A page, and the shard that could not be read, if it was not an outage. */
type RecordPage = SweepPage<DueRecord, RecordName>;

/** The cursor behind all records: no program id is greater. */
const behindAll = JSON.stringify({ programId: "~", shard: 0 } satisfies ShardPlace);

export const nameOf = (record: RecordName): RecordName =>
  "holdId" in record
    ? { programId: record.programId, holdId: record.holdId }
    : { programId: record.programId, reservationId: record.reservationId };

/** The largest number of records in a page. */
export const recordPageSize = 200;

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
export function recordPages(
  deps: Pick<Deps, "reader">,
  selection: Selection,
  until: string = behindAll,
): (cursor: string | undefined) => Promise<RecordPage> {
  const end = placeAt(until);
  let programs: readonly Program[] | undefined;
  /** The reads that have begun, by their cursors, and the place where the next one begins. */
  const reads = new Map<string, Promise<Page<DueRecord>>>();
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
    const shard = shards[place.shard] as Shard;
    const program = programs?.find((each) => each.programId === programId);
    const request = { size: recordPageSize, cursor: after };
    const page: Promise<Page<DueRecord>> =
      program && !selection.isWanted(program, shard.state)
        ? Promise.resolve({ items: [] })
        : inTurn(() => readShard(deps, programId, shard, selection.window, request));
    // The call that comes to this place gets the error; until then nobody waits for it.
    page.catch(() => {});
    reads.set(JSON.stringify(place), page);
  }

  return async (cursor) => {
    const isFirst = programs === undefined;
    programs ??= await selection.programs();
    const place = cursor === undefined ? firstPlace(programs[0]) : placeAt(cursor);
    if (!place || !isBefore(place, end)) return { items: [] };
    if (isFirst) ahead = nextPlace(place);
    const key = JSON.stringify(place);
    if (!reads.has(key)) beginRead(place);
    while (reads.size < shardsAtOnce && ahead) {
      beginRead(ahead);
      ahead = nextPlace(ahead);
    }
    const read = reads.get(key) as Promise<Page<DueRecord>>;
    reads.delete(key);
    const page: RecordPage = await read.catch((error) =>
      unreadPage(place.programId, shards[place.shard] as Shard, error),
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
export async function divideIntoLanes(
  { programs }: Pick<Selection, "programs">,
  { cursor, until = behindAll }: { readonly cursor: string; readonly until?: string | undefined },
  ways: number,
): Promise<RecordLane[]> {
  const place = placeAt(cursor);
  if (ways === 1 && place.after === undefined) return [{ cursor, until }];
  const end = placeAt(until);
  const programIds = (await programs()).map(({ programId }) => programId);
  const all = [...new Set([place.programId, ...programIds])]
    .sort()
    .flatMap((programId) => shards.map((_, shard) => ({ programId, shard })));
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

const readShard = (
  { reader }: Pick<Deps, "reader">,
  programId: string,
  { state, shard }: Shard,
  window: Window,
  page: PageRequest,
): Promise<Page<DueRecord>> =>
  state === "HELD"
    ? reader.heldInShard(programId, shard, window, page)
    : reader.pendingInShard(programId, shard, window, page);

/** Whether a program has pending reservations or holds that are due before `end`. */
export async function hasDue(
  deps: Pick<Deps, "reader">,
  programId: string,
  end: Instant,
): Promise<boolean> {
  const window = { start: undefined, end };
  const page = { size: 1, cursor: undefined };
  const pages = await Promise.all(
    shards.map((shard) => inTurn(() => readShard(deps, programId, shard, window, page))),
  );
  return pages.some(({ items }) => items.length > 0);
}

/** The page of a shard that cannot be read. Throws the error of an outage. */
function unreadPage(programId: string, { state, shard }: Shard, error: unknown): RecordPage {
  if (error instanceof DomainError && storeOutages.has(error.reason)) throw error;
  const name =
    state === "HELD"
      ? { programId, holdId: `(shard ${shard} of holds)` }
      : { programId, reservationId: `(shard ${shard} of ${state})` };
  return { items: [], unread: { name, error } };
}

const placeAt = (cursor: string): ShardPlace => JSON.parse(cursor);

const isBefore = (a: ShardPlace, b: ShardPlace): boolean =>
  a.programId === b.programId ? a.shard < b.shard : a.programId < b.programId;

const firstPlace = (program: Program | undefined): ShardPlace | undefined =>
  program && { programId: program.programId, shard: 0 };
