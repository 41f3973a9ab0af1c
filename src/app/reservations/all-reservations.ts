/** Reads the reservations of all programs, shard by shard, so that each record is read once. */
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages, type Page, type Window } from "../ports/pages.ts";
import { shardCount } from "../ports/points.ts";
import type { ReservationShard } from "../ports/reservations.ts";

/** Which records to read. */
interface Selection {
  readonly window: Window;
  /** The parts of the index by state, in their order. */
  readonly parts: readonly Pick<ReservationShard, "state" | "unsynced">[];
  /** Whether to read the records of a program. */
  isWanted(program: Program): boolean;
}

/** A place in the records. Cursors contain it as JSON. */
interface ShardPlace {
  readonly programId: string;
  /** The index of the shard among those of all parts. */
  readonly shard: number;
  /** The reader's cursor within the shard. */
  readonly after?: string | undefined;
}

/** The largest number of records in a page. */
export const reservationPageSize = 200;

/** The pending records, those that are not synced included. */
export const pendingParts: Selection["parts"] = [
  { state: "PENDING", unsynced: false },
  { state: "PENDING", unsynced: true },
];

/**
 * How many shards are read at once. Most of them are empty, so a sweep over many programs mainly
 * waits for these reads.
 */
const shardsAtOnce = 16;

/**
 * Returns a function that reads the page at a cursor; pages may be empty. It reads the following
 * shards ahead. One that could not be read fails the call that comes to it, and no other one.
 */
export function reservationPages(
  { reader }: Pick<Deps, "reader">,
  { window, parts, isWanted }: Selection,
): (cursor: string | undefined) => Promise<Page<Reservation>> {
  const shards = parts.length * shardCount;
  let programIds: string[] | undefined;
  /** The reads that have begun, by their cursors, and the place where the next one begins. */
  const reads = new Map<string, Promise<Page<Reservation>>>();
  let ahead: ShardPlace | undefined;

  async function wantedPrograms(): Promise<string[]> {
    const ids: string[] = [];
    for await (const programs of allPages(200, (page) => reader.programs(page))) {
      ids.push(...programs.filter(isWanted).map(({ programId }) => programId));
    }
    return ids.sort();
  }

  /** The place after a shard: its next shard, or the first one of the next program. */
  function nextPlace({ programId, shard }: ShardPlace): ShardPlace | undefined {
    if (shard + 1 < shards) return { programId, shard: shard + 1 };
    return firstPlace(programIds?.find((each) => each > programId));
  }

  function beginRead(place: ShardPlace): void {
    const { programId, shard, after } = place;
    const part = parts[Math.floor(shard / shardCount)] as Selection["parts"][number];
    const page = reader.reservationsInShard(
      { ...part, programId, shard: shard % shardCount },
      window,
      { size: reservationPageSize, cursor: after },
    );
    // The call that comes to this place gets the error; until then nobody waits for it.
    page.catch(() => {});
    reads.set(JSON.stringify(place), page);
  }

  return async (cursor) => {
    const isFirst = programIds === undefined;
    programIds ??= await wantedPrograms();
    const place =
      cursor === undefined ? firstPlace(programIds[0]) : (JSON.parse(cursor) as ShardPlace);
    if (!place) return { items: [] };
    if (isFirst) ahead = nextPlace(place);
    const key = JSON.stringify(place);
    if (!reads.has(key)) beginRead(place);
    while (reads.size < shardsAtOnce && ahead) {
      beginRead(ahead);
      ahead = nextPlace(ahead);
    }
    const read = reads.get(key) as Promise<Page<Reservation>>;
    reads.delete(key);
    const page = await read;
    const next = page.cursor === undefined ? nextPlace(place) : { ...place, after: page.cursor };
    return { items: page.items, ...(next && { cursor: JSON.stringify(next) }) };
  };
}

const firstPlace = (programId: string | undefined): ShardPlace | undefined =>
  programId === undefined ? undefined : { programId, shard: 0 };
