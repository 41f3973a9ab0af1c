/**
 * The store in memory, behind the same ports as DynamoDB's and held to the same contract tests.
 * What a test wants to go wrong it says in two hooks: one before a request takes effect, one before
 * its answer goes out.
 */

import { itemSize } from "../../bench/capacity.ts";
import type { Clock, Deps, Kind, Now, Reader, Records, Ref } from "../../src/app/ports.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { LedgerEntry } from "../../src/domain/ledger.ts";
import type { Reservation } from "../../src/domain/reservation.ts";
import { shardOf, toItem } from "../../src/store/dynamodb/codecs.ts";
import { CommitEngine } from "../../src/store/engine.ts";
import {
  type CommitResult,
  type Items,
  type Loaded,
  nameOf,
  type Write,
} from "../../src/store/items.ts";
import { createPrograms } from "../../src/store/programs.ts";
import { noWorkflows } from "./no-workflows.ts";

/** One request of the commit engine, as the hooks see it. */
export interface Request {
  readonly op: "read" | "commit";
  readonly refs: readonly Ref[];
  /** Of a commit; none for a read. */
  readonly writes: readonly Write[];
  /** Of a commit; empty for a read. */
  readonly token: string;
}

/**
 * What goes wrong: the store does not take the request (conflict, throttled; for a read
 * unavailable), or it gives no answer, before or after the commit took effect.
 */
export type Fault = "conflict" | "throttled" | "unavailable" | "lost before" | "lost after";

export interface MemoryStore {
  readonly items: Items;
  readonly reader: Reader;
  /** Called before a request takes effect. May wait, change the store or name a fault. */
  arriving: ((request: Request) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  /** Called when a request has taken effect, before its answer goes out. */
  answering: ((request: Request) => void | Promise<void>) | undefined;
  /** How long each request of the engine takes. */
  latencyMs: number;
  /** Requests of the engine since the last `resetStats`, and how many items they named. */
  readonly stats: Readonly<Stats>;
  resetStats(): void;
  /** Puts a record past every condition, as a vandal would. */
  force<K extends Kind>(ref: Ref<K>, value: Records[K] | undefined): void;
  /** Every record by name, for comparing whole states. */
  dump(): Record<string, Loaded>;
}

interface Stats {
  reads: number;
  readItems: number;
  commits: number;
  writtenItems: number;
}

interface Stored {
  readonly ref: Ref;
  readonly value: Records[Kind];
  readonly version: number;
}

const limits = { writes: 100, bytes: 4 * 2 ** 20 };

/** What BatchGetItem takes at once. */
const readLimit = 100;

/** All records, and the transactions on them. */
function createTable() {
  const records = new Map<string, Stored>();
  /** What was committed under each token. */
  const tokens = new Map<string, string>();

  const load = (ref: Ref): Loaded => {
    const found = records.get(nameOf(ref));
    if (!found) return { value: undefined, version: 0 };
    return { value: structuredClone(found.value), version: found.version };
  };

  function commit(writes: readonly Write[], token: string): CommitResult {
    const text = JSON.stringify(writes);
    const done = tokens.get(token);
    if (done === text) return { kind: "committed" };
    if (done !== undefined) throw invalid("IdempotentParameterMismatchException");
    const failed = writes.filter(({ ref, version }) => load(ref).version !== version);
    if (failed.length > 0) {
      return { kind: "failed", found: new Map(failed.map(({ ref }) => [ref, load(ref)])) };
    }
    for (const { ref, value, version } of writes) {
      records.set(nameOf(ref), { ref, value: structuredClone(value), version: version + 1 });
    }
    tokens.set(token, text);
    return { kind: "committed" };
  }

  return { records, load, commit };
}

export function createMemoryStore(): MemoryStore {
  const { records, load, commit } = createTable();
  const stats: Stats = { reads: 0, readItems: 0, commits: 0, writtenItems: 0 };

  const pause = () =>
    store.latencyMs > 0
      ? new Promise((resolve) => setTimeout(resolve, store.latencyMs))
      : Promise.resolve();

  const items: Items = {
    limits,
    maxBytes: () => 1024,

    async read(refs) {
      if (refs.length === 0) return [];
      stats.reads += 1;
      stats.readItems += refs.length;
      for (let i = 0; i < refs.length; i += readLimit) {
        checkDistinct(refs.slice(i, i + readLimit));
      }
      const request: Request = { op: "read", refs, writes: [], token: "" };
      await pause();
      const fault = await store.arriving?.(request);
      if (fault !== undefined) {
        throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer", {});
      }
      const loaded = refs.map(load);
      await store.answering?.(request);
      return loaded;
    },

    async readFree(ref) {
      stats.reads += 1;
      stats.readItems += 1;
      await pause();
      const request: Request = { op: "read", refs: [ref], writes: [], token: "" };
      const fault = await store.arriving?.(request);
      if (fault === "conflict") return undefined;
      if (fault !== undefined) throw new DomainError("STORE_UNAVAILABLE", "no answer", {});
      const loaded = load(ref);
      await store.answering?.(request);
      return loaded;
    },

    async commit(writes, token) {
      stats.commits += 1;
      stats.writtenItems += writes.length;
      checkWrites(writes, token);
      // A copy, as the bytes on the wire would be: what happens to the writes later does not count.
      const sent = writes.map((write) => ({ ...write, value: structuredClone(write.value) }));
      const request: Request = { op: "commit", refs: writes.map(({ ref }) => ref), writes, token };
      await pause();
      const fault = await store.arriving?.(request);
      if (fault === "conflict" || fault === "throttled") return { kind: fault };
      if (fault === "lost before" || fault === "unavailable") return { kind: "unknown" };
      const result = commit(sent, token);
      await store.answering?.(request);
      if (fault === "lost after") return { kind: "unknown" };
      return result;
    },
  };

  const store: MemoryStore = {
    items,
    reader: createReader(records, load),
    arriving: undefined,
    answering: undefined,
    latencyMs: 0,
    stats,
    resetStats() {
      Object.assign(stats, { reads: 0, readItems: 0, commits: 0, writtenItems: 0 });
    },
    force(ref, value) {
      const { version } = load(ref);
      if (value === undefined) records.delete(nameOf(ref));
      else records.set(nameOf(ref), { ref, value: structuredClone(value), version: version + 1 });
    },
    dump() {
      const names = [...records.keys()].sort();
      return Object.fromEntries(
        names.map((name) => [name, load((records.get(name) as Stored).ref)]),
      );
    },
  };
  return store;
}

/** An error of the kind that means a mistake in the program, not an answer of the store. */
function invalid(message: string): Error {
  const error = new Error(message);
  error.name = "ValidationException";
  return error;
}

function checkDistinct(refs: readonly Ref[]): void {
  if (new Set(refs.map(nameOf)).size < refs.length) throw invalid("an item is named twice");
}

/** What DynamoDB validates before it looks at anything. */
function checkWrites(writes: readonly Write[], token: string): void {
  if (token.length < 1 || token.length > 36) throw invalid("a token has 1 to 36 characters");
  if (writes.length < 1 || writes.length > limits.writes) {
    throw invalid(`${writes.length} items in one transaction`);
  }
  checkDistinct(writes.map(({ ref }) => ref));
  let bytes = 0;
  for (const { ref, value, version } of writes) bytes += itemSize(toItem(ref, value, version + 1));
  if (bytes > limits.bytes) throw invalid(`${bytes} bytes in one transaction`);
}

function createReader(records: ReadonlyMap<string, Stored>, load: (ref: Ref) => Loaded): Reader {
  const all = <K extends Kind>(kind: K): Records[K][] =>
    [...records.values()]
      .filter(({ ref }) => ref.kind === kind)
      .map(({ value }) => structuredClone(value) as Records[K]);

  return {
    async get(ref) {
      const { value, version } = load(ref);
      return value === undefined
        ? undefined
        : { value: value as Records[typeof ref.kind], version };
    },

    programs: async (page) =>
      pageOf(
        all("program").map((row) => ({ sort: row.id, row })),
        page,
      ),

    async entries({ program, user }, { from, to, newestFirst, types }, page) {
      const mine = [...records.values()]
        .filter(({ ref }) => ref.kind === "entry" && ref.id.startsWith(`${program}#${user}#`))
        .map(({ value }) => structuredClone(value) as LedgerEntry)
        .filter(({ number }) => number >= from && number <= to)
        .map((row) => ({ sort: pad(newestFirst ? 10 ** 12 - row.number : row.number), row }));
      const found = pageOf(mine, page);
      const wanted = found.items.filter(({ type }) => types.length === 0 || types.includes(type));
      return { ...found, items: wanted };
    },

    async dueAccounts(program, shard, month, page) {
      const due = all("account").filter(
        (account) =>
          account.program === program &&
          shardOf(account.user) === shard &&
          account.oldest !== undefined &&
          account.oldest <= month,
      );
      return pageOf(
        due.map(({ user, oldest }) => ({
          sort: `${pad(oldest as number)}#${user}`,
          row: { program, user },
        })),
        page,
      );
    },

    async accounts(program, segment, segments, page) {
      const scanned = [...records.values()]
        .filter(({ ref }) => ref.kind !== "reservation")
        .map(({ ref, value }) => ({ sort: nameOf(ref), row: { ref, value } }))
        .filter(({ sort }) => shardOf(sort) % segments === segment);
      const found = pageOf(scanned, page);
      const names = found.items.flatMap(({ ref, value }) =>
        ref.kind === "account" && (value as Records["account"]).program === program
          ? [{ program, user: (value as Records["account"]).user }]
          : [],
      );
      return { ...found, items: names };
    },

    reservationsOfUser: async ({ program, user }, window, page) =>
      pageOf(
        all("reservation")
          .filter((row) => row.program === program && row.user === user)
          .filter(isWithin(window))
          .map(sorted),
        page,
      ),

    async reservationsInState(program, state, window, { size, cursor }) {
      const rows = all("reservation")
        .filter((row) => row.program === program && row.state === state)
        .filter(isWithin(window))
        .map(sorted)
        .filter(({ sort }) => cursor === undefined || sort > cursor)
        .sort(bySort);
      const found = rows.slice(0, size);
      const last = found.at(-1)?.sort;
      return {
        items: found.map(({ row }) => row),
        ...(rows.length > size && last !== undefined && { cursor: last }),
      };
    },
  };
}

interface Sorted<T> {
  readonly sort: string;
  readonly row: T;
}

const pad = (value: number): string => String(value).padStart(15, "0");

const bySort = (a: Sorted<unknown>, b: Sorted<unknown>): number => (a.sort < b.sort ? -1 : 1);

const sorted = (row: Reservation): Sorted<Reservation> => ({
  sort: `${pad(row.executeTime)}#${row.id}`,
  row,
});

const isWithin =
  ({ start, end }: { start: number | undefined; end: number | undefined }) =>
  ({ executeTime }: Reservation): boolean =>
    executeTime >= (start ?? 0) && executeTime < (end ?? Number.POSITIVE_INFINITY);

/** As DynamoDB does it: a full page has a cursor, even when nothing is behind it. */
function pageOf<T>(
  rows: Sorted<T>[],
  { size, cursor }: { size: number; cursor: string | undefined },
): { items: T[]; cursor?: string } {
  const after = cursor === undefined ? "" : parseCursor(cursor);
  const found = rows
    .sort(bySort)
    .filter(({ sort }) => sort > after)
    .slice(0, size);
  const last = found.at(-1);
  return {
    items: found.map(({ row }) => row),
    ...(found.length === size && last && { cursor: JSON.stringify({ after: last.sort }) }),
  };
}

function parseCursor(cursor: string): string {
  try {
    return (JSON.parse(cursor) as { after: string }).after;
  } catch {
    throw new DomainError("INVALID_REQUEST", "page_token does not belong to this list");
  }
}

/** A clock that stands until it is set. */
export interface SettableClock extends Clock {
  time: number;
}

export function createSettableClock(time: number): SettableClock {
  return {
    time,
    async now(): Promise<Now> {
      return { calendar: this.time, wall: this.time };
    },
  };
}

/** Use cases on a store in memory. */
export interface MemoryDeps {
  readonly deps: Deps;
  readonly store: MemoryStore;
  readonly clock: SettableClock;
  /** The same store as another process sees it: with an engine and a cache of its own. */
  process(): Deps;
}

export function memoryDeps(
  options: { readonly time?: number; readonly random?: () => number } = {},
): MemoryDeps {
  const store = createMemoryStore();
  const clock = createSettableClock(options.time ?? Date.UTC(2026, 0, 15));
  const { reader, items } = store;
  const { random } = options;
  const programs = createPrograms(reader, true);
  const process = (): Deps => ({
    engine: new CommitEngine({ items, clock, ...(random && { random }) }),
    reader,
    clock,
    programs,
    workflows: noWorkflows,
    background: (work) => void work().catch(() => undefined),
  });
  return { deps: process(), store, clock, process };
}
