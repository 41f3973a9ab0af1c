/**
 * The store in memory: the readers, codecs and writes of DynamoDB's store on a DynamoDB in memory.
 * Tests inject faults through hooks: one before a request takes effect, one before its answer is
 * sent, and one before each item of a transaction is applied.
 */
import type { DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type { BulkGrantReport, SheetStore } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import { createDynamoSheetStore } from "../../../src/bulk-grants/store/sheet-store.ts";
import { createDueHours } from "../../../src/due/runtime/due-hours.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import type { Purger } from "../../../src/feed/ports/reactions.ts";
import type { UnreadCountStreams } from "../../../src/feed/ports/unread-counts.ts";
import { createTargetOwnerCache } from "../../../src/feed/runtime/target-owner-cache.ts";
import { createDynamoPurger } from "../../../src/feed/store/purger.ts";
import type { Reader, WorkerDeps } from "../../../src/hub/deps.ts";
import { tableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createStoreTallies } from "../../../src/platform/dynamodb/sdk/request-counts.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { ItemStore, Loaded, Write } from "../../../src/platform/engine/item-store.ts";
import type { Clock, Now } from "../../../src/platform/ports/clock.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import { createCounter } from "../../../src/platform/ports/tallies.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { RemoveSnapshot } from "../../../src/points/ports/points.ts";
import type { RuleChangeReport } from "../../../src/points/ports/programs.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { createSnapshotRemover } from "../../../src/points/store/ledger-items.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { createTableScan } from "../../../src/store/scan.ts";
import type { TableScan } from "../../../src/store/scans.ts";
import { unpaced } from "../fixtures/unpaced.ts";
import { randomFrom } from "../models/random.ts";
import { bulkPorts, recordReports } from "../servers/bulk-ports.ts";
import { eventPorts } from "../servers/event-ports.ts";
import { exportPorts } from "../servers/export-ports.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { createMemoryDynamo } from "./dynamo/memory-dynamo.ts";
import { type BeforeItem, createRecords, type Stored } from "./memory-records.ts";

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
  /** Sends commands to the tables, whose names have no prefix. */
  readonly client: DynamoDBClient;
  /** Called before a request takes effect. May wait, change the store or return a fault. */
  arriving: ((request: Request) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  /**
   * Called when a request has taken effect, before its answer is sent. The items of a commit whose
   * answer is lost may still be waiting to be applied.
   */
  answering: ((request: Request) => void | Promise<void>) | undefined;
  /** Called before each item that is applied, or read by the engine: each has its own moment. */
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
  /** Queries for the members of groups, page by page. */
  queries: number;
  commits: number;
  writtenItems: number;
}

const noStats: Stats = { reads: 0, readItems: 0, queries: 0, commits: 0, writtenItems: 0 };

const names = tableName("");
const definitions = tableDefinitions(names);

export function createMemoryStore(): MemoryStore {
  const dynamo = createMemoryDynamo(definitions, () => {
    const { beforeItem } = store;
    return beforeItem && records.byRef(beforeItem);
  });
  const { client } = dynamo;
  const records = createRecords(dynamo.tables);
  const stats: Stats = { ...noStats };

  /** Serves a read of the engine and calls its hooks. */
  async function answered<T>(
    request: Request,
    read: () => Promise<T>,
    refused: (fault: Fault) => T = notServed,
  ): Promise<T> {
    await pause(store.latencyMs);
    const fault = await store.arriving?.(request);
    if (fault !== undefined) return refused(fault);
    const seen = await read();
    await store.answering?.(request);
    return seen;
  }

  function readOf(refs: readonly Ref[]): Request {
    stats.reads += 1;
    stats.readItems += refs.length;
    records.know(refs);
    return { op: "read", refs, writes: [], token: "" };
  }

  const items = createDynamoItemStore(dynamo.itemByItem, names);
  const itemStore: ItemStore = {
    ...items,

    async read(refs) {
      return refs.length === 0 ? [] : answered(readOf(refs), () => items.read(refs));
    },

    async readAtomically(refs) {
      const rejected = (fault: Fault) => (fault === "conflict" ? undefined : notServed(fault));
      return answered(readOf(refs), () => items.readAtomically(refs), rejected);
    },

    async commit(writes, token) {
      stats.commits += 1;
      stats.writtenItems += writes.length;
      const refs = writes.map(({ ref }) => ref);
      const request: Request = { op: "commit", refs, writes, token };
      records.know(refs);
      await pause(store.latencyMs);
      const fault = await store.arriving?.(request);
      if (fault === "conflict" || fault === "throttled") return { kind: fault };
      if (fault === "lost before" || fault === "unavailable") return { kind: "unknown" };
      const committed = items.commit(writes, token);
      if (fault === "lost after") committed.catch(() => undefined);
      else await committed;
      await store.answering?.(request);
      return fault === "lost after" ? { kind: "unknown" } : committed;
    },
  };

  /** Sends the queries for members and latest reactions, which are requests of the engine. */
  const queried = {
    send(command: QueryCommand) {
      stats.queries += 1;
      const request: Request = { op: "members", refs: [], writes: [], token: "" };
      return answered(request, () => client.send(command));
    },
  };

  const clients = { retrying: client, single: queried as unknown as DynamoDBClient };
  const store: MemoryStore = {
    ...{ itemStore, client, stats },
    reader: createDynamoReader(clients, names),
    purger: createDynamoPurger(clients, names, unpaced),
    removeSnapshot: createSnapshotRemover(client, names("points")),
    sheets: createDynamoSheetStore(clients, names),
    ...createTableScan(client, names),
    ...{ arriving: undefined, answering: undefined, beforeItem: undefined, latencyMs: 0 },
    resetStats: () => Object.assign(stats, noStats),
    ...{ force: records.force, stored: records.stored },
    ...{ restore: records.restore, dump: records.dump },
  };
  return store;
}

const pause = (ms: number): Promise<unknown> =>
  ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve();

function notServed(fault: Fault): never {
  if (fault === "throttled") throw new DomainError("THROTTLED", "the store throttles it");
  throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
}

/** A clock whose time a test sets. */
export interface SettableClock extends Clock {
  time: number;
}

function createSettableClock(time: number): SettableClock {
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
  readonly deps: WorkerDeps;
  readonly store: MemoryStore;
  readonly clock: SettableClock;
  /** The reports that were sent. */
  readonly reports: readonly BulkGrantReport[];
  /** What was told about changes of bulk rules. */
  readonly ruleChanges: readonly RuleChangeReport[];
  /** The dependencies of another process on the same store: with its own engine and cache. */
  process(): WorkerDeps;
}

/** Engines pause for random times: by them, a retry meets the transaction before it or does not. */
const seed = 20_261_130;

export function memoryDeps(
  options: { readonly time?: number; readonly random?: () => number } = {},
): MemoryDeps {
  const store = createMemoryStore();
  const clock = createSettableClock(options.time ?? Date.UTC(2026, 0, 15));
  const { reader, itemStore, purger, sheets } = store;
  const reporter = recordReports();
  const { random = randomFrom(seed) } = options;
  const programs = createProgramCache(reader, true);
  const process = (): WorkerDeps => {
    const engine = new CommitEngine({ store: itemStore, clock, random });
    return {
      engine,
      readAhead: (requests) => engine.readAhead(requests),
      reader,
      clock,
      storeSilenceMs: () => 0,
      storeUnansweredMs: () => 0,
      storeRefusals: () => [],
      tallies: {
        store: createStoreTallies(),
        commits: engine.tallies,
        clockSkewMs: () => 0,
        droppedTasks: createCounter("meguri_background_tasks_dropped_total", "Tasks."),
        failedReports: createCounter("meguri_reports_failed_total", "Reports.", ["kind"]),
      },
      programs,
      dueHours: createDueHours(engine, clock),
      workflows: noWorkflows,
      owners: createTargetOwnerCache(reader),
      purger,
      removeSnapshot: store.removeSnapshot,
      unreadCounts: noUnreadCountStreams,
      paceSweep: unpaced,
      ...bulkPorts,
      ...exportPorts(),
      sheets,
      ...eventPorts({ eventLog: createEventLog(store.client, names("events")), clock }),
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
