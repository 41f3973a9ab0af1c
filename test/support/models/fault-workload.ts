/** Runs operations of many callers on a store with faults, and checks their outcomes. */
import { expect } from "vitest";
import type { ChangeResult } from "../../../src/app/points/change-account.ts";
import {
  grantPoints,
  refundPoints,
  revokePoints,
  usePoints,
} from "../../../src/app/points/commands.ts";
import { verifyAccount } from "../../../src/app/points/verify.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { Counts } from "../../../src/app/ports/tallies.ts";
import { asService } from "../../../src/domain/caller.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import { createSystemClock } from "../../../src/runtime/clocks.ts";
import { createProgramCache } from "../../../src/runtime/program-cache.ts";
import { createTargetOwnerCache } from "../../../src/runtime/target-owner-cache.ts";
import { createDynamoItemStore } from "../../../src/store/dynamodb/item-store.ts";
import { createSnapshotRemover } from "../../../src/store/dynamodb/ledger-items.ts";
import { createDynamoPurger } from "../../../src/store/dynamodb/purger.ts";
import { createDynamoReader } from "../../../src/store/dynamodb/readers/index.ts";
import { createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import { createDynamoSheetStore } from "../../../src/store/dynamodb/sheet-store.ts";
import type { TableName } from "../../../src/store/dynamodb/tables.ts";
import { CommitEngine } from "../../../src/store/engine/engine.ts";
import type { DynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { allItems } from "../fixtures/pages.ts";
import { patience } from "../fixtures/waiting.ts";
import { bulkPorts, recordReports } from "../servers/bulk-ports.ts";
import { exportPorts } from "../servers/export-ports.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { noUnreadCountStreams } from "../stores/memory-store.ts";
import { compareWithLedgers } from "./outcome-checks.ts";
import { randomFrom } from "./random.ts";
import {
  type Attempt,
  allowsPartial,
  type Operation,
  type Outcome,
  refundPointsOf,
} from "./workload-operations.ts";

/** The dependencies of one process of the service. */
export interface Process {
  readonly deps: Deps;
  readonly engine: CommitEngine;
  close(): void;
}

/** The ways to DynamoDB. */
export const transports = ["thin", "sdk"] as const;

export function startProcess(
  endpoint: string,
  names: TableName,
  transport: (typeof transports)[number] = "thin",
): Process {
  const clients = createClients({ endpoint, region: "ap-northeast-1", transport });
  const store = createDynamoItemStore(clients.single, names);
  const reader = createDynamoReader(clients, names);
  const clock = createSystemClock(clients);
  const engine = new CommitEngine({ store, clock });
  const programs = createProgramCache(reader);
  const background = (work: () => Promise<void>) => void work().catch(() => undefined);
  const deps: Deps = {
    engine,
    readAhead: (requests) => engine.readAhead(requests),
    reader,
    clock,
    storeSilenceMs: clients.silenceMs,
    storeUnansweredMs: clients.unansweredMs,
    storeThrottles: clients.throttles,
    tallies: {
      store: clients.tallies,
      commits: engine.tallies,
      clockSkewMs: clients.skewMs,
      droppedTasks: () => 0,
      failedReports: new Counts<"kind">(),
    },
    programs,
    workflows: noWorkflows,
    owners: createTargetOwnerCache(reader),
    purger: createDynamoPurger(clients, names),
    removeSnapshot: createSnapshotRemover(clients.retrying, names("points")),
    unreadCounts: noUnreadCountStreams,
    ...bulkPorts,
    ...exportPorts(),
    sheets: createDynamoSheetStore(clients, names),
    reporter: recordReports(),
    historyMs: 90 * 24 * 3_600_000,
    background,
  };
  return { deps, engine, close: clients.close };
}

/**
 * Waits until nothing is on its way to the store any more that these processes have sent through
 * the proxy: calls that were given up may still be decided and committed.
 */
export const settle = (processes: readonly Process[], proxy: DynamoProxy): Promise<void> =>
  expect
    .poll(() => {
      const busy = processes.reduce((sum, { engine }) => sum + engine.busyKeyCount, 0);
      return busy + proxy.stats().underWay;
    }, patience)
    .toBe(0);

/** Random operations on some accounts. Refunds and revokes name recent operations. */
export function plan(seed: number, count: number, accounts: number): Operation[] {
  const random = randomFrom(seed);
  const all: Operation[] = [];
  for (let i = 0; i < count; i++) {
    const userId = `user-${Math.floor(random() * accounts)}`;
    const drawn = random();
    const kind = drawn < 0.4 ? "grant" : drawn < 0.75 ? "use" : drawn < 0.9 ? "refund" : "revoke";
    const reversible = all.filter(
      (each) => each.userId === userId && each.kind === (kind === "refund" ? "use" : "grant"),
    );
    const reverses = reversible.at(-1 - Math.floor(random() * 4))?.id ?? "nothing";
    all.push({ id: `op-${i}`, userId, kind, points: 1 + Math.floor(random() * 50), reverses });
  }
  return all;
}

export const programId = "default";

function send(deps: Deps, operation: Operation, waitMs?: number): Promise<ChangeResult> {
  const { id: eventId, userId, kind, points, reverses } = operation;
  const deadline = waitMs === undefined ? undefined : performance.now() + waitMs;
  const input = { programId, userId, eventId, reason: "", caller: asService("workload"), deadline };
  switch (kind) {
    case "grant":
      return grantPoints(deps, { ...input, points });
    case "use":
      return usePoints(deps, { ...input, points, allowPartial: allowsPartial(operation) });
    case "refund":
      return refundPoints(deps, {
        ...input,
        useEventId: reverses,
        points: refundPointsOf(operation),
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      });
    case "revoke":
      return revokePoints(deps, { ...input, grant: { origin: "c", eventId: reverses } });
  }
}

/** Calls an operation once. Throws an error that the service does not define. */
export async function attempt(deps: Deps, operation: Operation, waitMs?: number): Promise<Attempt> {
  const start = performance.now();
  try {
    const answer = await send(deps, operation, waitMs);
    return { start, end: performance.now(), answer };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { start, end: performance.now(), error };
  }
}

/**
 * Runs the operations with so many concurrent callers. Some operations are sent twice at once, by
 * two processes. Half of the ambiguous results are retried, the rest is given up.
 */
export async function runWorkload(
  processes: readonly Process[],
  operations: readonly Operation[],
  seed: number,
  callers: number,
): Promise<Outcome[]> {
  const random = randomFrom(seed);
  const outcomes: Outcome[] = [];
  const queue = [...operations];
  const anyProcess = () => (processes[Math.floor(random() * processes.length)] as Process).deps;

  async function attemptUntilAnswered(operation: Operation, attempts: Attempt[]): Promise<void> {
    for (let tries = random() < 0.5 ? 5 : 1; tries > 0; tries--) {
      const last = await attempt(anyProcess(), operation);
      attempts.push(last);
      if (!last.error?.retryable) return;
    }
  }

  async function caller(): Promise<void> {
    for (let operation = queue.shift(); operation; operation = queue.shift()) {
      const attempts: Attempt[] = [];
      const sent = [attemptUntilAnswered(operation, attempts)];
      if (random() < 0.1) sent.push(attemptUntilAnswered(operation, attempts));
      await Promise.all(sent);
      outcomes.push({ operation, attempts });
    }
  }

  await Promise.all(Array.from({ length: callers }, caller));
  return outcomes;
}

/** Compares the outcomes with the ledgers, and every account with its ledger. */
export async function checkOutcomes(deps: Deps, outcomes: readonly Outcome[]) {
  const ledgers = new Map<string, LedgerEntry[]>();
  for (const userId of new Set(outcomes.map(({ operation }) => operation.userId))) {
    const { differences } = await verifyAccount(deps, { programId, userId }, false);
    expect(differences, `account of ${userId}`).toEqual([]);
    ledgers.set(userId, await ledgerOf(deps, userId));
  }
  const { wrong, counts } = compareWithLedgers(outcomes, ledgers);
  expect(wrong).toEqual([]);
  return counts;
}

export async function ledgerOf(deps: Deps, userId: string): Promise<LedgerEntry[]> {
  const all = { from: 1, to: 1e9, newestFirst: false, types: [] };
  return allItems((page) => deps.reader.entries({ programId, userId }, all, page), 500);
}
