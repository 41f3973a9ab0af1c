/** Many callers on a store that has a bad day, and the reckoning afterwards. */
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
import { DomainError } from "../../../src/domain/errors.ts";
import { eventName, type LedgerEntry } from "../../../src/domain/ledger.ts";
import { createSystemClock } from "../../../src/runtime/clocks.ts";
import { createProgramCache } from "../../../src/runtime/program-cache.ts";
import { createTargetOwnerCache } from "../../../src/runtime/target-owner-cache.ts";
import { createDynamoItemStore } from "../../../src/store/dynamodb/item-store.ts";
import { createDynamoPurger } from "../../../src/store/dynamodb/purger.ts";
import { createDynamoReader } from "../../../src/store/dynamodb/readers/index.ts";
import { createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import type { TableName } from "../../../src/store/dynamodb/tables.ts";
import { CommitEngine } from "../../../src/store/engine/engine.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { noWatches } from "../stores/memory-store.ts";
import { randomFrom } from "./random.ts";
import { checkRefusals } from "./refusal-checks.ts";

/** What one process of the service stands on. */
export interface Process {
  readonly deps: Deps;
  readonly engine: CommitEngine;
  close(): void;
}

export function startProcess(endpoint: string, names: TableName): Process {
  const clients = createClients({ endpoint, region: "ap-northeast-1" });
  const items = createDynamoItemStore(clients.single, names);
  const reader = createDynamoReader(clients, names);
  const clock = createSystemClock(clients.skewMs);
  const engine = new CommitEngine({ store: items, clock });
  const programs = createProgramCache(reader);
  const background = (work: () => Promise<void>) => void work().catch(() => undefined);
  const deps = {
    engine,
    reader,
    clock,
    programs,
    workflows: noWorkflows,
    owners: createTargetOwnerCache(reader),
    purger: createDynamoPurger(clients, names),
    unreadCounts: noWatches,
    historyMs: 90 * 24 * 3_600_000,
    background,
  };
  return { deps, engine, close: clients.close };
}

export interface Operation {
  readonly id: string;
  readonly userId: string;
  readonly kind: "grant" | "use" | "refund" | "revoke";
  readonly points: number;
  /** The event that a refund or revoke undoes. */
  readonly undoes: string;
}

/** One sending of an operation, timed by `performance.now()`. */
export interface Attempt {
  readonly start: number;
  readonly end: number;
  readonly answer?: ChangeResult;
  /** A refusal, or why there is no answer. */
  readonly error?: DomainError;
}

/** What the callers of an operation know of it in the end. */
export interface Outcome {
  readonly operation: Operation;
  readonly attempts: readonly Attempt[];
}

/** Operations on some accounts; undoings name operations that came not long before. */
export function plan(seed: number, count: number, accounts: number): Operation[] {
  const random = randomFrom(seed);
  const all: Operation[] = [];
  for (let i = 0; i < count; i++) {
    const userId = `user-${Math.floor(random() * accounts)}`;
    const drawn = random();
    const kind = drawn < 0.4 ? "grant" : drawn < 0.75 ? "use" : drawn < 0.9 ? "refund" : "revoke";
    const undone = all.filter(
      (each) => each.userId === userId && each.kind === (kind === "refund" ? "use" : "grant"),
    );
    const undoes = undone.at(-1 - Math.floor(random() * 4))?.id ?? "nothing";
    all.push({ id: `op-${i}`, userId, kind, points: 1 + Math.floor(random() * 50), undoes });
  }
  return all;
}

export const programId = "default";

/** Whether a use takes what there is. */
export const allowsPartial = ({ points }: Operation): boolean => points % 2 === 0;

/** How many points a refund asks for; undefined for all that is left. */
export const refunded = ({ points }: Operation): number | undefined =>
  points % 3 === 0 ? Math.ceil(points / 5) : undefined;

function send(deps: Deps, operation: Operation, waitMs?: number): Promise<ChangeResult> {
  const { id: eventId, userId, kind, points, undoes } = operation;
  const deadline = waitMs === undefined ? undefined : performance.now() + waitMs;
  const input = { programId, userId, eventId, reason: "", caller: "storm", deadline };
  switch (kind) {
    case "grant":
      return grantPoints(deps, { ...input, points });
    case "use":
      return usePoints(deps, { ...input, points, allowPartial: allowsPartial(operation) });
    case "refund":
      return refundPoints(deps, {
        ...input,
        useEventId: undoes,
        points: refunded(operation),
        expiredPoints: "ORIGINAL_EXPIRY",
      });
    case "revoke":
      return revokePoints(deps, { ...input, grant: { origin: "c", eventId: undoes } });
  }
}

/** Sends an operation once; what is no answer of the service is thrown. */
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
 * Lets `callers` work through the operations. Some send each twice at once, by two processes; some
 * send again what got no answer, others leave it at that.
 */
export async function storm(
  processes: readonly Process[],
  operations: readonly Operation[],
  seed: number,
  callers: number,
): Promise<Outcome[]> {
  const random = randomFrom(seed);
  const outcomes: Outcome[] = [];
  const queue = [...operations];
  const any = () => (processes[Math.floor(random() * processes.length)] as Process).deps;

  async function persist(operation: Operation, attempts: Attempt[]): Promise<void> {
    for (let tries = random() < 0.5 ? 5 : 1; tries > 0; tries--) {
      const last = await attempt(any(), operation);
      attempts.push(last);
      if (!last.error?.retryable) return;
    }
  }

  async function caller(): Promise<void> {
    for (let operation = queue.shift(); operation; operation = queue.shift()) {
      const attempts: Attempt[] = [];
      const sent = [persist(operation, attempts)];
      if (random() < 0.1) sent.push(persist(operation, attempts));
      await Promise.all(sent);
      outcomes.push({ operation, attempts });
    }
  }

  await Promise.all(Array.from({ length: callers }, caller));
  return outcomes;
}

/**
 * Compares what callers were told with the ledgers: what was acknowledged is there exactly once,
 * what was not is there once or not at all, every refusal was right when it was given, and every
 * account equals its ledger.
 */
export async function reckon(deps: Deps, outcomes: readonly Outcome[]) {
  const ledgers = new Map<string, LedgerEntry[]>();
  for (const userId of new Set(outcomes.map(({ operation }) => operation.userId))) {
    const name = { programId, userId };
    const { differences } = await verifyAccount(deps, name, false);
    expect(differences, `account of ${userId}`).toEqual([]);
    const entries = await ledgerOf(deps, userId);
    for (const { balance } of entries) expect(balance).toBeGreaterThanOrEqual(0);
    ledgers.set(userId, entries);
  }
  const counts = { acknowledged: 0, refused: 0, lost: 0, lostButDone: 0 };
  const expected = new Set<string>();
  for (const { operation, attempts } of outcomes) {
    const { id, userId } = operation;
    expected.add(`${userId} c:${id}`);
    const answers = attempts.flatMap(({ answer }) => answer ?? []);
    const refused = attempts.find(({ error }) => error && !error.retryable)?.error;
    const found = (ledgers.get(userId) ?? []).filter(({ event }) => event.eventId === id);
    expect(found.length, `entries of ${id}`).toBeLessThanOrEqual(1);
    for (const { entry } of answers) expect(found, id).toEqual([entry]);
    // The same answer is new once at most, however often it was asked for.
    expect(answers.filter(({ replayed }) => !replayed).length).toBeLessThanOrEqual(1);
    // What one sending was refused, another that got no answer may have done later.
    const isOpen = attempts.some(({ error }) => error?.retryable);
    if (answers.length > 0) counts.acknowledged += 1;
    else if (isOpen && (refused === undefined || found.length > 0)) {
      counts.lost += 1;
      counts.lostButDone += found.length;
    } else {
      expect(found, `${id} was refused as ${refused?.reason}`).toEqual([]);
      counts.refused += 1;
    }
  }
  for (const [userId, entries] of ledgers) {
    checkRefusals(
      outcomes.filter(({ operation }) => operation.userId === userId),
      entries,
    );
    for (const { event } of entries) {
      if (event.origin !== "x") expect(expected).toContain(`${userId} ${eventName(event)}`);
    }
  }
  return counts;
}

export async function ledgerOf(deps: Deps, userId: string): Promise<LedgerEntry[]> {
  const all = { from: 1, to: 1e9, newestFirst: false, types: [] };
  const entries: LedgerEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await deps.reader.entries({ programId, userId }, all, { size: 500, cursor });
    entries.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries;
}
