/**
 * The store in memory, with the same ports and the same conformance tests as DynamoDB's. Tests
 * inject faults through hooks: one before a request takes effect, one before its answer is sent,
 * and one before each item of a transaction is applied.
 */
import type {
  BulkGrantReport,
  RuleChangeReport,
  SheetStore,
} from "../../../src/app/ports/bulk-grants.ts";
import type { Clock, Now } from "../../../src/app/ports/clock.ts";
import type { Deps, Reader } from "../../../src/app/ports/deps.ts";
import type { RemoveSnapshot } from "../../../src/app/ports/points.ts";
import type { Purger } from "../../../src/app/ports/reactions.ts";
import type { Kind, Records, Ref } from "../../../src/app/ports/records.ts";
import type { TableScan } from "../../../src/app/ports/scans.ts";
import { Counts } from "../../../src/app/ports/tallies.ts";
import type { UnreadCountStreams } from "../../../src/app/ports/unread-counts.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { createProgramCache } from "../../../src/runtime/program-cache.ts";
import { createTargetOwnerCache } from "../../../src/runtime/target-owner-cache.ts";
import { toItem } from "../../../src/store/dynamodb/codecs/index.ts";
import { pack, startPacking } from "../../../src/store/dynamodb/ledger-items.ts";
import { itemSize } from "../../../src/store/dynamodb/sdk/item-size.ts";
import { createStoreTallies } from "../../../src/store/dynamodb/sdk/request-counts.ts";
import { CommitEngine } from "../../../src/store/engine/engine.ts";
import {
  type ItemStore,
  type Loaded,
  nameOf,
  type Write,
} from "../../../src/store/engine/item-store.ts";
import { bulkPorts, recordReports } from "../servers/bulk-ports.ts";
import { exportPorts } from "../servers/export-ports.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { createBulkGrants } from "./memory-bulk-grants.ts";
import { frozenCopy, type Stored } from "./memory-pages.ts";
import { createPurger, memberReads } from "./memory-reactions.ts";
import { createReader } from "./memory-reader.ts";
import { createScan } from "./memory-scan.ts";
import { type BeforeItem, createTable, invalid } from "./memory-table.ts";

/** One request of the commit engine, as the hooks see it. */
export interface Request {
  readonly op: "read" | "members" | "commit";
  /** Empty for members. */
  readonly refs: readonly Ref[];
  /** Of a commit; empty otherwise. */
  readonly writes: readonly Write[];
  /** Of a commit; empty otherwise. */
  readonly token: string;
}

/**
 * A fault: the store refuses the request (conflict, throttled; a read also unavailable), or its
 * answer is lost before or after the commit took effect, so that the result is ambiguous.
 */
export type Fault = "conflict" | "throttled" | "unavailable" | "lost before" | "lost after";

export interface MemoryStore extends TableScan {
  readonly itemStore: ItemStore;
  readonly reader: Reader;
  readonly purger: Purger;
  readonly removeSnapshot: RemoveSnapshot;
  readonly sheets: SheetStore;
  /** Called before a request takes effect. May wait, change the store or return a fault. */
  arriving: ((request: Request) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  /**
   * Called when a request has taken effect, before its answer is sent. The items of a commit whose
   * answer is lost may still be waiting to be applied.
   */
  answering: ((request: Request) => void | Promise<void>) | undefined;
  /** Called before each item that is applied or read, which makes both happen item by item. */
  beforeItem: BeforeItem | undefined;
  /** How long each request of the engine takes. */
  latencyMs: number;
  /** Requests of the engine since the last `resetStats`, and how many items they named. */
  readonly stats: Readonly<Stats>;
  resetStats(): void;
  /** Sets a record without any condition. */
  force<K extends Kind>(ref: Ref<K>, value: Records[K] | undefined): void;
  /** The records as they are stored, with their versions. */
  stored(): readonly Stored[];
  /** Puts records with the versions that they had in another store. */
  restore(records: readonly Stored[]): void;
  /** Every record by name, so that whole states can be compared. */
  dump(): Record<string, Loaded>;
}

interface Stats {
  reads: number;
  readItems: number;
  /** Queries for the members of groups: one for each end of a range, and one that counts. */
  queries: number;
  commits: number;
  writtenItems: number;
}

const noStats: Stats = { reads: 0, readItems: 0, queries: 0, commits: 0, writtenItems: 0 };

/** The limits of one transaction. */
const maxItems = 100;
const maxBytes = 4 * 2 ** 20;

/** The limit of one BatchGetItem. */
const readLimit = 100;

export function createMemoryStore(): MemoryStore {
  const table = createTable(() => store.beforeItem);
  const stats: Stats = { ...noStats };

  /** Serves a read of the engine and calls its hooks. */
  async function answered<T>(
    request: Request,
    read: () => T | Promise<T>,
    refused: (fault: Fault) => T = notServed,
  ): Promise<T> {
    await pause(store.latencyMs);
    const fault = await store.arriving?.(request);
    if (fault !== undefined) return refused(fault);
    const seen = await read();
    await store.answering?.(request);
    return seen;
  }

  function countRead(refs: readonly Ref[]): void {
    stats.reads += 1;
    stats.readItems += refs.length;
  }

  const queryMembers = <T>(read: () => T): Promise<T> => {
    stats.queries += 1;
    return answered({ op: "members", refs: [], writes: [], token: "" }, read);
  };

  const itemStore: ItemStore = {
    maxItems,
    countItems: startPacking,

    async read(refs) {
      if (refs.length === 0) return [];
      countRead(refs);
      checkRead(refs);
      return answered({ op: "read", refs, writes: [], token: "" }, () => table.loadEach(refs));
    },

    async readAtomically(refs) {
      countRead(refs);
      checkAtomicRead(refs);
      const request: Request = { op: "read", refs, writes: [], token: "" };
      const rejected = (fault: Fault) => (fault === "conflict" ? undefined : notServed(fault));
      return answered(request, () => table.loadAtomically(refs), rejected);
    },

    async commit(writes, token) {
      stats.commits += 1;
      stats.writtenItems += writes.length;
      checkWrites(writes, token);
      // A copy, like the bytes on the wire: later changes of the writes have no effect.
      const sent = writes.map((write) => ({ ...write, value: frozenCopy(write.value) }));
      const request: Request = { op: "commit", refs: writes.map(({ ref }) => ref), writes, token };
      await pause(store.latencyMs);
      const fault = await store.arriving?.(request);
      if (fault === "conflict" || fault === "throttled") return { kind: fault };
      if (fault === "lost before" || fault === "unavailable") return { kind: "unknown" };
      const { result, applied } = table.commit(sent, token);
      if (fault !== "lost after") await applied;
      await store.answering?.(request);
      if (fault === "lost after") return { kind: "unknown" };
      return result;
    },
  };

  const { sheets, reads } = createBulkGrants(table.records);
  const store: MemoryStore = {
    itemStore,
    reader: {
      ...createReader(table.records, table.load),
      ...memberReads(table.records, queryMembers),
      ...reads,
    },
    purger: createPurger(table.records),
    sheets,
    arriving: undefined,
    answering: undefined,
    beforeItem: undefined,
    latencyMs: 0,
    stats,
    resetStats: () => Object.assign(stats, noStats),
    ...createScan(table.records),
    ...{ force: table.force, removeSnapshot: table.removeSnapshot },
    stored: () => [...table.records.values()],
    restore(records) {
      for (const each of records) table.records.set(nameOf(each.ref), each);
    },
    dump: table.dump,
  };
  return store;
}

const pause = (ms: number): Promise<unknown> =>
  ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve();

function notServed(fault: Fault): never {
  if (fault === "throttled") throw new DomainError("THROTTLED", "the store throttles it");
  throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
}

function checkDistinct(refs: readonly Ref[]): void {
  if (new Set(refs.map(nameOf)).size < refs.length) throw invalid("an item is named twice");
}

function checkRead(refs: readonly Ref[]): void {
  for (let i = 0; i < refs.length; i += readLimit) checkDistinct(refs.slice(i, i + readLimit));
}

function checkAtomicRead(refs: readonly Ref[]): void {
  checkDistinct(refs);
  if (refs.length < 1 || refs.length > maxItems) throw invalid("1 to 100 keys are read at once");
}

/** The checks that DynamoDB makes before it reads any item. */
function checkWrites(writes: readonly Write[], token: string): void {
  if (token.length < 1 || token.length > 36) throw invalid("a token has 1 to 36 characters");
  const itemCount = pack(writes).length;
  if (itemCount < 1 || itemCount > maxItems) throw invalid(`${itemCount} items in one transaction`);
  checkDistinct(writes.map(({ ref }) => ref));
  let bytes = 0;
  for (const { ref, op, value, next } of writes) {
    if (op === "put") bytes += itemSize(toItem(ref, value as Records[Kind], next));
  }
  if (bytes > maxBytes) throw invalid(`${bytes} bytes in one transaction`);
}

/** A clock whose time a test sets. */
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

/** Unread count streams of which none is ever opened. */
export const noUnreadCountStreams: UnreadCountStreams = {
  publish: () => undefined,
  watch: () => {
    throw new Error("there are no unread count streams here");
  },
  drain: () => undefined,
  close: () => undefined,
};

/** The dependencies of use cases on a store in memory. */
export interface MemoryDeps {
  readonly deps: Deps;
  readonly store: MemoryStore;
  readonly clock: SettableClock;
  /** The reports that were sent. */
  readonly reports: readonly BulkGrantReport[];
  /** What was told about changes of bulk rules. */
  readonly ruleChanges: readonly RuleChangeReport[];
  /** The dependencies of another process on the same store: with its own engine and cache. */
  process(): Deps;
}

export function memoryDeps(
  options: { readonly time?: number; readonly random?: () => number } = {},
): MemoryDeps {
  const store = createMemoryStore();
  const clock = createSettableClock(options.time ?? Date.UTC(2026, 0, 15));
  const { reader, itemStore, purger, sheets } = store;
  const reporter = recordReports();
  const { random } = options;
  const programs = createProgramCache(reader, true);
  const process = (): Deps => {
    const engine = new CommitEngine({ store: itemStore, clock, ...(random && { random }) });
    return {
      engine,
      readAhead: (requests) => engine.readAhead(requests),
      reader,
      clock,
      storeSilenceMs: () => 0,
      storeUnansweredMs: () => 0,
      storeThrottles: () => ({ byTable: new Map(), byTarget: [] }),
      tallies: {
        store: createStoreTallies(),
        commits: engine.tallies,
        clockSkewMs: () => 0,
        droppedTasks: () => 0,
        failedReports: new Counts<"kind">(),
      },
      programs,
      workflows: noWorkflows,
      owners: createTargetOwnerCache(reader),
      purger,
      removeSnapshot: store.removeSnapshot,
      unreadCounts: noUnreadCountStreams,
      ...bulkPorts,
      ...exportPorts(),
      sheets,
      reporter,
      historyMs: 90 * 24 * 3_600_000,
      background: (work) => void work().catch(() => undefined),
    };
  };
  return {
    deps: process(),
    store,
    clock,
    reports: reporter.reports,
    ruleChanges: reporter.ruleChanges,
    process,
  };
}
