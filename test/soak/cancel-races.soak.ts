/** Tests cancels at the time of the grant: one of the two commits, and the ledger agrees. */
import { setTimeout as sleep } from "node:timers/promises";
import { WorkflowNotFoundError } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DomainError } from "../../src/platform/words/errors.ts";
import { cancelReservation } from "../../src/reservations/use-cases/commands.ts";
import { statusOf } from "../support/fixtures/operators.ts";
import {
  change,
  handleOf,
  reserve,
  reserveAndStart,
  stateOf,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { randomFrom } from "../support/models/random.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { inForm, isLong, soakSeed } from "../support/soak.ts";

const races = inForm({ short: 40, long: 200 });
const atOnce = 40;

/** Reservations of one user, whose grants are coalesced. */
const reservationsOfUser = 10;

const random = randomFrom(soakSeed(20_261_130));

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
});
afterAll(() => stack.stop());

/** A race: its ids, and when it cancels, from the moment at which the grant is due. */
interface Race {
  readonly id: string;
  readonly userId: string;
  readonly cancelMs: number;
  /** Resolves when the worker sends the grant to the store. */
  readonly granting: PromiseWithResolvers<void>;
}

const racesOf = (kind: string, [from, to]: readonly [number, number]): Race[] =>
  Array.from({ length: races }, (_, i) => ({
    id: `${kind}-${i}`,
    userId: `${kind}-user-${i % (races / reservationsOfUser)}`,
    cancelMs: from + random() * (to - from),
    granting: Promise.withResolvers(),
  }));

/** Resolves `granting`. The grants reach the store a little later, so that a cancel may win. */
function observeGrants(all: readonly Race[]): void {
  const byId = new Map(all.map((race) => [race.id, race]));
  stack.proxy.onRequest((operation, body) => {
    if (operation !== "TransactWriteItems") return;
    for (const [, id = ""] of body.toString().matchAll(/#([a-z]+-\d+)"/g)) {
      byId.get(id)?.granting.resolve();
    }
  });
  stack.proxy.faults({ delay: 1, delayMs: [0, 40], operations: ["TransactWriteItems"] });
}

/** Runs all races, in waves. Returns for each of them what `run` has returned. */
async function runAll(
  all: readonly Race[],
  run: (race: Race, i: number) => Promise<boolean>,
): Promise<boolean[]> {
  const results: boolean[] = [];
  while (results.length < all.length) {
    const wave = all.slice(results.length, results.length + atOnce);
    const done = results.length;
    results.push(...(await Promise.all(wave.map((race, i) => run(race, done + i)))));
  }
  return results;
}

/** Expects the points of exactly the races that were not cancelled. */
async function expectPoints(all: readonly Race[], cancelled: readonly boolean[]): Promise<void> {
  const points = new Map<string, number>();
  for (const [i, { userId }] of all.entries()) {
    points.set(userId, (points.get(userId) ?? 0) + (cancelled[i] ? 0 : 10));
  }
  for (const [userId, balance] of points) {
    expect(await verified(stack, userId)).toEqual({ balance, entries: balance / 10 });
  }
  // Few races on a busy machine may all end alike.
  if (!isLong) return;
  const cancels = cancelled.filter(Boolean).length;
  expect(cancels).toBeGreaterThan(0);
  expect(cancels).toBeLessThan(all.length);
}

/** Reserves, and cancels when the grant is sent or around the due time; true when cancelled. */
async function cancelByCall({ id, userId, cancelMs, granting }: Race, i: number): Promise<boolean> {
  const { deps, programId } = stack;
  const inMs = 500;
  await reserve(deps, programId, { id, userId, inMs });
  if (i % 2 === 0) await granting.promise;
  else await sleep(inMs + cancelMs);
  try {
    await patiently(() => cancelReservation(deps, { ...change, programId, reservationId: id }));
    return true;
  } catch (error) {
    expect((error as DomainError).reason).toBe("WRONG_STATE");
    return false;
  }
}

/** The result that stands for a run that has ended as Canceled. */
function canceled(error: unknown): { step: string } {
  expect(error).toMatchObject({ cause: { name: "CancelledFailure" } });
  return { step: "CANCELLED" };
}

test("a reservation is either cancelled without points or done with them", async () => {
  const all = racesOf("race", [-30, 220]);
  observeGrants(all);
  const cancelled = await runAll(all, cancelByCall);
  for (const [i, { id }] of all.entries()) {
    await eventually(async () => {
      expect(await stateOf(stack, id)).toBe(cancelled[i] ? "CANCELLED" : "DONE");
    });
    // A run that reads its cancelled row before it is asked to end is completed.
    const result = await handleOf(stack, id).result().catch(canceled);
    expect(result).toMatchObject({ step: cancelled[i] ? "CANCELLED" : "DONE" });
  }
  await expectPoints(all, cancelled);
});

/** Reserves, and requests the cancellation of the run; true when the run ends as Canceled. */
async function cancelInTemporal({ id, userId, cancelMs }: Race): Promise<boolean> {
  const inMs = 1_500;
  const due = performance.now() + inMs;
  await reserveAndStart(stack, { id, userId, inMs });
  await sleep(Math.max(0, due + cancelMs - performance.now()));
  const handle = handleOf(stack, id);
  await handle.cancel().catch((error: unknown) => {
    // The run has ended before.
    expect(error).toBeInstanceOf(WorkflowNotFoundError);
  });
  await handle.result().catch(() => {});
  const ended = `${await stateOf(stack, id)}, run ${await statusOf(handle)}`;
  expect(["CANCELLED, run CANCELLED", "DONE, run COMPLETED"]).toContain(ended);
  return ended.startsWith("CANCELLED");
}

test("a run either ends as Canceled without points or is completed with them", async () => {
  const all = racesOf("requested", [-1_000, 150]);
  observeGrants(all);
  await expectPoints(all, await runAll(all, cancelInTemporal));
});
