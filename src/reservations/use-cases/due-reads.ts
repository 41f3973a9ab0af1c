/** Lets the sweeps of a process read a program and a shard only when something may be overdue. */
import type { Hold } from "../../holds/rules/hold.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import { isStoreOutage } from "../../platform/work/unconfirmed-failures.ts";
import type { Deps } from "../ports/deps.ts";
import type { Reservation } from "../rules/reservation.ts";
import type { Shard } from "./all-reservations.ts";
import { dueProgramIds } from "./due-programs.ts";

/** A read looks so far ahead, and is not repeated for as long where nothing is due. */
export const readAheadMs = 10_000;

/** A failure is forgotten so long after it was tried again at the earliest. */
const keptMs = 60_000;

/** The memory that the sweeps of a process share. */
export interface DueMemory {
  /** The programs that have something due, and when they were read. */
  programs: { readonly readAt: Instant; readonly ids: readonly string[] } | undefined;
  /** By shard, when something in it may be overdue. */
  readonly nextReads: Map<string, Instant>;
  /** By program, where its next sweep begins. */
  readonly cursors: Map<string, { readonly shards: readonly Shard[]; readonly cursor: string }>;
  /** By the name of a record or a program: since when it fails, and until when it is left alone. */
  readonly failures: Map<string, { readonly since: Instant; readonly until: Instant }>;
}

export const createDueMemory = (): DueMemory => ({
  programs: undefined,
  nextReads: new Map(),
  cursors: new Map(),
  failures: new Map(),
});

type ReadShard<T> = (
  programId: string,
  shard: number,
  window: Window,
  page: PageRequest,
) => Promise<Page<T>>;

/**
 * Returns the programs that have something due, and reads of their shards, which return what a
 * sweep executes now: `timesOf` says since when a record is overdue, and from when on a sweep
 * executes it. A record that is written less than 10 s before its time may be found 10 s later.
 */
export function dueReads(
  { reader }: Pick<Deps, "reader">,
  memory: DueMemory,
  wall: Instant,
  timesOf: (record: Reservation | Hold) => { readonly overdue: Instant; readonly sweep: Instant },
) {
  /** Of each shard whose pages are read from the first one on: when it has to be read again. */
  const readAgain = new Map<string, Instant>();

  /** A clock that was set back makes what is kept worthless. */
  const isAhead = (time: Instant) => time > wall && time <= wall + readAheadMs;

  const watched =
    <T extends Reservation | Hold>(state: string, read: ReadShard<T>): ReadShard<T> =>
    async (programId, shard, _, page) => {
      const key = `${state} ${shard} ${programId}`;
      const isFirst = page.cursor === undefined;
      if (isFirst && isAhead(memory.nextReads.get(key) ?? 0)) return { items: [] };
      const latest = wall + readAheadMs;
      const window = { start: undefined, end: latest };
      const found = await read(programId, shard, window, page).catch((error) => {
        if (isFirst && !isStoreOutage(error)) memory.nextReads.set(key, latest);
        throw error;
      });
      const all = found.items.map((record) => ({ record, ...timesOf(record) }));
      const items = all.filter(({ sweep }) => sweep < wall).map(({ record }) => record);
      if (isFirst) readAgain.set(key, latest);
      const next = Math.min(readAgain.get(key) ?? 0, ...all.map(({ sweep }) => sweep));
      readAgain.set(key, next);
      // Pages are in the order of time.
      const isLast = found.cursor === undefined || all.some(({ overdue }) => overdue >= wall);
      if (isLast && next >= wall) memory.nextReads.set(key, next);
      return isLast ? { items } : { ...found, items };
    };

  return {
    async programIds(): Promise<readonly string[]> {
      const { programs, nextReads, cursors, failures } = memory;
      if (programs && isAhead(programs.readAt + readAheadMs)) return programs.ids;
      const ids = await dueProgramIds({ reader }, wall + readAheadMs).catch((error) => {
        if (programs && isStoreOutage(error)) return programs.ids;
        throw error;
      });
      nextReads.clear();
      for (const [name, { until }] of failures) if (until < wall - keptMs) failures.delete(name);
      for (const programId of cursors.keys())
        if (!ids.includes(programId)) cursors.delete(programId);
      memory.programs = { readAt: wall, ids };
      return ids;
    },
    reader: {
      pendingInShard: watched<Reservation>("PENDING", (...read) => reader.pendingInShard(...read)),
      heldInShard: watched<Hold>("HELD", (...read) => reader.heldInShard(...read)),
    },
  };
}
