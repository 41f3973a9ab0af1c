/** Runs operations of many callers on a store with faults, and checks their outcomes. */
import { expect } from "vitest";
import { createDynamoSheetStore } from "../../../src/bulk-grants/store/sheet-store.ts";
import { createDueHours } from "../../../src/due/runtime/due-hours.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { createTargetOwnerCache } from "../../../src/feed/runtime/target-owner-cache.ts";
import { createDynamoPurger } from "../../../src/feed/store/purger.ts";
import { holdRef } from "../../../src/holds/ports/records.ts";
import type { Hold, HoldState } from "../../../src/holds/rules/hold.ts";
import { capturePoints, holdPoints, releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import { timeOutHold } from "../../../src/holds/use-cases/time-out.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import type { TableName } from "../../../src/platform/dynamodb/tables.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { Clock } from "../../../src/platform/ports/clock.ts";
import { createCounter } from "../../../src/platform/ports/tallies.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Month } from "../../../src/platform/words/month.ts";
import { createSystemClock } from "../../../src/platform/work/clocks.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { createSnapshotRemover } from "../../../src/points/store/ledger-items.ts";
import {
  extendPoints,
  grantPoints,
  revokePoints,
  usePoints,
} from "../../../src/points/use-cases/commands.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import type { DynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { allItems } from "../fixtures/pages.ts";
import { unpaced } from "../fixtures/unpaced.ts";
import { patience, patiently } from "../fixtures/waiting.ts";
import { bulkPorts, recordReports } from "../servers/bulk-ports.ts";
import { eventPorts } from "../servers/event-ports.ts";
import { exportPorts } from "../servers/export-ports.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { noUnreadCountStreams } from "../stores/memory-store.ts";
import { wrongHolds } from "./hold-checks.ts";
import { compareWithLedgers } from "./outcome-checks.ts";
import { randomFrom } from "./random.ts";
import {
  type Answer,
  type Attempt,
  allowsPartial,
  begun,
  capturePointsOf,
  doMoreFollow,
  expireMonthOf,
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

/** Starts a process by whose clock reservations and holds are due `aheadMs` earlier. */
export function startProcess(
  endpoint: string,
  names: TableName,
  transport: (typeof transports)[number] = "thin",
  aheadMs = 0,
): Process {
  const clients = createClients({ endpoint, region: "ap-northeast-1", transport });
  const store = createDynamoItemStore(clients.single, names);
  const reader = createDynamoReader(clients, names);
  const system = createSystemClock(clients);
  const clock: Clock = {
    async now() {
      const { wall, calendar } = await system.now();
      return { wall: wall + aheadMs, calendar };
    },
  };
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
    storeRefusals: clients.refusals,
    tallies: {
      store: clients.tallies,
      commits: engine.tallies,
      clockSkewMs: clients.skewMs,
      droppedTasks: createCounter("meguri_background_tasks_dropped_total", "Tasks."),
      failedReports: createCounter("meguri_reports_failed_total", "Reports.", ["kind"]),
    },
    programs,
    dueHours: createDueHours(engine, clock),
    workflows: noWorkflows,
    owners: createTargetOwnerCache(reader),
    purger: createDynamoPurger(clients, names, unpaced),
    removeSnapshot: createSnapshotRemover(clients.retrying, names("points")),
    unreadCounts: noUnreadCountStreams,
    paceSweep: unpaced,
    ...bulkPorts,
    ...exportPorts(),
    sheets: createDynamoSheetStore(clients, names),
    ...eventPorts({ eventLog: createEventLog(clients.retrying, names("events")), clock }),
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

export const programId = "default";

function send(deps: Deps, operation: Operation, waitMs?: number): Promise<Answer> {
  const { id: eventId, userId, kind, points, reverses } = operation;
  const deadline = waitMs === undefined ? undefined : performance.now() + waitMs;
  const input = { programId, userId, eventId, reason: "", caller: asService("workload"), deadline };
  switch (kind) {
    case "grant":
      return grantPoints(deps, { ...input, points, expireMonth: expireMonthOf(operation) });
    case "use":
      return usePoints(deps, { ...input, points, allowPartial: allowsPartial(operation) });
    case "refund":
      return refundPoints(deps, {
        ...input,
        useEventId: reverses,
        holdId: operation.holdId,
        points: refundPointsOf(operation),
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      });
    case "revoke":
      return revokePoints(deps, { ...input, grant: { origin: "c", eventId: reverses } });
    case "extend": {
      const expireMonth = expireMonthOf(operation) as Month;
      const grant = { origin: "c", eventId: reverses } as const;
      return extendPoints(deps, { ...input, grant, expireMonth });
    }
    case "hold":
      return holdPoints(deps, {
        ...{ ...input, reason: eventId, holdId: eventId, points },
        allowPartial: allowsPartial(operation),
        until: operation.until as number,
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      });
    case "capture":
      return capturePoints(deps, {
        ...{ ...input, reason: eventId, holdId: reverses },
        points: capturePointsOf(operation),
        moreFollow: doMoreFollow(operation),
      });
    case "release":
      return releaseHold(deps, { ...input, reason: eventId, holdId: reverses });
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
 * two processes. Half of the ambiguous results are retried, the rest is given up. Meanwhile, a
 * worker times out holds that are due by its clock.
 */
export async function runWorkload(
  processes: readonly Process[],
  worker: Process,
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
    for (let planned = queue.shift(); planned; planned = queue.shift()) {
      const operation = begun(planned);
      const attempts: Attempt[] = [];
      const sent = [attemptUntilAnswered(operation, attempts)];
      if (random() < 0.1) sent.push(attemptUntilAnswered(operation, attempts));
      await Promise.all(sent);
      outcomes.push({ operation, attempts });
      if (random() < 0.1) await timeOutOne();
    }
  }

  async function timeOutOne(): Promise<void> {
    const latest = outcomes.filter((each) => each.operation.kind === "hold").slice(-callers);
    const hold = latest[Math.floor(random() * latest.length)];
    if (hold) await timeOut(worker.deps, hold).catch(requireDomainError);
  }

  await Promise.all(Array.from({ length: callers }, caller));
  return outcomes;
}

const timeOut = (deps: Deps, { operation: { id: holdId, userId } }: Outcome) =>
  timeOutHold(deps, { programId, userId, holdId });

function requireDomainError(error: unknown): void {
  if (!(error instanceof DomainError)) throw error;
}

/** Times out all holds that are due by the clock of a worker. */
export async function timeOutDue({ deps }: Process, outcomes: readonly Outcome[]): Promise<void> {
  for (const outcome of outcomes) {
    if (outcome.operation.kind !== "hold") continue;
    await patiently(() => timeOut(deps, outcome)).catch(requireDomainError);
  }
}

/**
 * Compares the outcomes with the ledgers, every account with its ledger, and the holds with both.
 * Holds that are due by a clock that is `aheadMs` ahead must have been released.
 */
export async function checkOutcomes(deps: Deps, outcomes: readonly Outcome[], aheadMs = 0) {
  const time = Date.now() + aheadMs;
  const ledgers = new Map<string, LedgerEntry[]>();
  const heldPoints = new Map<string, number>();
  for (const userId of new Set(outcomes.map(({ operation }) => operation.userId))) {
    const name = { programId, userId };
    const { differences } = await verifyAccount(deps, name, false);
    expect(differences, `account of ${userId}`).toEqual([]);
    ledgers.set(userId, await ledgerOf(deps, userId));
    heldPoints.set(userId, (await getBalance(deps, name)).heldPoints);
  }
  const { wrong, counts } = compareWithLedgers(outcomes, ledgers);
  const holds = await holdsOf(deps, outcomes);
  expect([...wrong, ...wrongHolds(outcomes, { time, ledgers, holds, heldPoints })]).toEqual([]);
  const states = Map.groupBy(holds.values(), ({ state }) => state);
  const countOf = (state: HoldState) => states.get(state)?.length ?? 0;
  return { ...counts, timedOut: countOf("EXPIRED"), captured: countOf("CAPTURED") };
}

/** The records of the holds that these operations have made, by their ids. */
export async function holdsOf(deps: Deps, outcomes: readonly Outcome[]) {
  const refs = outcomes
    .filter(({ operation }) => operation.kind === "hold")
    .map(({ operation }) => holdRef({ programId, holdId: operation.id }));
  const found = await deps.reader.many(refs);
  return new Map(found.flatMap((hold): [string, Hold][] => (hold ? [[hold.holdId, hold]] : [])));
}

export async function ledgerOf(deps: Deps, userId: string): Promise<LedgerEntry[]> {
  const all = { from: 1, to: 1e9, newestFirst: false, types: [] };
  return allItems((page) => deps.reader.entries({ programId, userId }, all, page), 500);
}
