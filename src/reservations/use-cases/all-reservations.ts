/** Reads the reservations and holds of all programs, shard by shard, each record once. */
import pLimit from "p-limit";
import type { RecordName } from "../../due/ports/due.ts";
import { heldShardsOf } from "../../holds/ports/holds.ts";
import type { Hold } from "../../holds/rules/hold.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { SweepPage } from "../../platform/work/sweep.ts";
import { isStoreOutage } from "../../platform/work/unconfirmed-failures.ts";
import {
  type Program,
  reservationShardsOf,
  type ShardedProgram,
} from "../../points/rules/program.ts";
import type { Deps } from "../ports/deps.ts";
import type { Reservation } from "../rules/reservation.ts";

/** The records that become due: pending reservations, and holds. */
type DueState = "PENDING" | "HELD";

type DueRecord = Reservation | Hold;

/** Which records to read. */
export interface Selection {
  /** Returns the programs whose records are read, by id. */
  programs(): Promise<readonly Program[]>;
  /** Whether to read what a program has in a state. */
  isWanted(program: Program, state: DueState): boolean;
  /** Returns the shards of a program in the order of the reads: all. */
  readonly shardsOf?: (program: Partial<ShardedProgram>) => readonly Shard[];
}

/** A shard of the records of a program in a state. */
export interface Shard {
  readonly state: DueState;
  readonly shard: number;
}

/** All shards of a program. */
export const allShards = (program: Partial<ShardedProgram>): readonly Shard[] => [
  ...shardsOf("PENDING", reservationShardsOf(program)),
  ...shardsOf("HELD", heldShardsOf(program)),
];

const shardsOf = (state: DueState, length: number): Shard[] =>
  Array.from({ length }, (_, shard) => ({ state, shard }));

type ShardReader = Pick<Deps["reader"], "pendingInShard" | "heldInShard">;

const everything: Window = { start: undefined, end: undefined };

/** A cursor of the records. Payloads contain it as JSON. */
interface ShardCursor extends Shard {
  readonly programId: string;
  /** The reader's cursor within the shard. */
  readonly after?: string | undefined;
}

/** A page, and the shard that could not be read, if it was not an outage. */
type RecordPage = SweepPage<DueRecord, RecordName>;

/** When a record is due. */
export const timeOf = (record: DueRecord): Instant =>
  "holdId" in record ? record.until : record.executeTime;

/** The largest number of records in a page. */
export const recordPageSize = 50;

/**
 * How many shards are read at once. Most of them are empty, so a sweep over many programs mainly
 * waits for these reads.
 */
const shardsAtOnce = 16;

/** So many reads at a time for all sweeps of this process, which has more to do than these. */
const inTurn = pLimit(4 * shardsAtOnce);

/**
 * Returns a function that reads the page at a cursor; pages may be empty. It reads the following
 * shards ahead. The page of a shard that cannot be read says so, and the shards behind it are read
 * all the same. An outage fails the call that comes to it.
 */
export function recordPages(
  deps: { readonly reader: ShardReader },
  selection: Selection,
): (cursor: string | undefined) => Promise<RecordPage> {
  const { shardsOf = allShards } = selection;
  let programs: readonly Program[] | undefined;
  /** The reads that have begun, by their cursors, and the cursor of the next one. */
  const reads = new Map<string, Promise<Page<DueRecord>>>();
  let ahead: ShardCursor | undefined;

  const programOf = ({ programId }: ShardCursor) =>
    programs?.find((each) => each.programId === programId);

  const firstCursor = (program: Program | undefined): ShardCursor | undefined =>
    program && cursorAt(program.programId, shardsOf(program)[0]);

  /** The cursor behind a shard: its next shard, or the first one of the next program. */
  function cursorAfter(at: ShardCursor): ShardCursor | undefined {
    const { programId, state, shard } = at;
    const shards = shardsOf(programOf(at) ?? {});
    const index = shards.findIndex((each) => each.state === state && each.shard === shard);
    const next = cursorAt(programId, shards[index + 1]);
    return next ?? firstCursor(programs?.find((each) => each.programId > programId));
  }

  function beginRead(at: ShardCursor): void {
    const { programId, state, after } = at;
    const program = programOf(at);
    const request = { size: recordPageSize, cursor: after };
    const page: Promise<Page<DueRecord>> =
      program && !selection.isWanted(program, state)
        ? Promise.resolve({ items: [] })
        : inTurn(() => readShard(deps, programId, at, everything, request));
    // The call that comes to this cursor gets the error; until then nobody waits for it.
    page.catch(() => {});
    reads.set(JSON.stringify(at), page);
  }

  return async (cursor) => {
    const isFirst = programs === undefined;
    programs ??= await selection.programs();
    const at = cursor === undefined ? firstCursor(programs[0]) : parsed(cursor);
    if (!at) return { items: [] };
    if (isFirst) ahead = cursorAfter(at);
    const key = JSON.stringify(at);
    if (!reads.has(key)) beginRead(at);
    while (reads.size < shardsAtOnce && ahead) {
      beginRead(ahead);
      ahead = cursorAfter(ahead);
    }
    const read = reads.get(key) as Promise<Page<DueRecord>>;
    reads.delete(key);
    const page: RecordPage = await read.catch((error) => unreadPage(at, error));
    const next = page.cursor === undefined ? cursorAfter(at) : { ...at, after: page.cursor };
    return {
      items: page.items,
      unread: page.unread,
      cursor: next && JSON.stringify(next),
    };
  };
}

const readShard = (
  { reader }: { readonly reader: ShardReader },
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
  program: ShardedProgram,
  end: Instant,
): Promise<boolean> {
  const window = { start: undefined, end };
  const page = { size: 1, cursor: undefined };
  const pages = await Promise.all(
    allShards(program).map((shard) =>
      inTurn(() => readShard(deps, program.programId, shard, window, page)),
    ),
  );
  return pages.some(({ items }) => items.length > 0);
}

/** The page of a shard that cannot be read. Throws the error of an outage. */
function unreadPage({ programId, state, shard }: ShardCursor, error: unknown): RecordPage {
  if (isStoreOutage(error)) throw error;
  const name =
    state === "HELD"
      ? { programId, holdId: `(shard ${shard} of holds)` }
      : { programId, reservationId: `(shard ${shard} of ${state})` };
  return { items: [], unread: { name, error } };
}

const parsed = (cursor: string): ShardCursor => JSON.parse(cursor);

const cursorAt = (programId: string, shard: Shard | undefined): ShardCursor | undefined =>
  shard && { programId, ...shard };
