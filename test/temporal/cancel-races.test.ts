/** Tests cancels at the time of the grant: one of the two commits, and the ledger agrees. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelReservation } from "../../src/app/reservations/commands.ts";
import type { DomainError } from "../../src/domain/errors.ts";
import { reserve, stateOf, verified } from "../support/fixtures/reservations.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const races = 200;
const atOnce = 40;

/** Reservations of one user, whose grants are coalesced. */
const reservationsOfUser = 10;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Resolves when the worker sends the grant of a reservation to the store. */
const granting = Array.from({ length: races }, () => Promise.withResolvers<void>());

function observeGrants(): void {
  stack.proxy.onRequest((operation, body) => {
    if (operation !== "TransactWriteItems") return;
    for (const [, i] of body.toString().matchAll(/#race-(\d+)"/g)) granting[Number(i)]?.resolve();
  });
  // The grants reach the store a little later, so that a cancel may be committed first.
  stack.proxy.faults({ delay: 1, delayMs: [0, 40], operations: ["TransactWriteItems"] });
}

/** Reserves, and cancels when the grant is sent or around the due time; true when cancelled. */
async function race(i: number): Promise<boolean> {
  const { deps, programId } = stack;
  const id = `race-${i}`;
  const inMs = 500;
  await reserve(deps, programId, { id, userId: `user-${i % (races / reservationsOfUser)}`, inMs });
  if (i % 2 === 0) await granting[i]?.promise;
  else await sleep(inMs + Math.random() * 250 - 30);
  try {
    await patiently(() => cancelReservation(deps, { programId, reservationId: id }));
    return true;
  } catch (error) {
    expect((error as DomainError).reason).toBe("WRONG_STATE");
    return false;
  }
}

test("a reservation is either cancelled without points or done with them", async () => {
  observeGrants();
  const won: boolean[] = [];
  while (won.length < races) {
    const wave = Array.from({ length: atOnce }, (_, i) => race(won.length + i));
    won.push(...(await Promise.all(wave)));
  }
  const points = new Map<string, number>();
  for (const [i, cancelled] of won.entries()) {
    const userId = `user-${i % (races / reservationsOfUser)}`;
    await eventually(async () => {
      expect(await stateOf(stack, `race-${i}`)).toBe(cancelled ? "CANCELLED" : "DONE");
    });
    points.set(userId, (points.get(userId) ?? 0) + (cancelled ? 0 : 10));
  }
  for (const [userId, balance] of points) {
    expect(await verified(stack, userId)).toEqual({ balance, entries: balance / 10 });
  }
  const cancels = won.filter(Boolean).length;
  expect(cancels).toBeGreaterThan(0);
  expect(cancels).toBeLessThan(races);
});
