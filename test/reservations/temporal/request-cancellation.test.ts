/** Tests Request Cancellation, the button of Temporal's Web UI, in every state of a run. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import {
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../../src/reservations/use-cases/pause.ts";
import {
  cancelledByOperator,
  expectCancelledByOperator,
  expectNothingGranted,
  isListed,
  pendingOf,
  recordOf,
  showsDetails,
  statusOf,
  waitsInBackoff,
} from "../../support/fixtures/operators.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";
import {
  change,
  expectGrantedOnce,
  freeze,
  reaches,
  reserveAndBegin,
  reserveAndStart,
} from "../../support/fixtures/reservations.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
});
afterAll(() => stack.stop());

/**
 * Cancels the run of a reservation while its activity holds the grant. Returns the reservation,
 * which is not due yet: where the machine was too slow, it begins again with a longer time.
 */
async function cancelHeldGrant(): Promise<Reservation> {
  for (let inMs = 3_000; ; inMs *= 3) {
    const id = `held-${inMs}`;
    const handle = await reserveAndStart(stack, { id, inMs });
    await eventually(async () => {
      const { status, raw } = await handle.describe();
      if (status.name === "RUNNING") expect(pendingOf(raw)).toEqual([["grantWhenDue", "STARTED"]]);
    });
    // Too late if the run has ended.
    await handle.cancel().catch(() => {});
    await handle.result().catch(() => {});
    const reservation = await recordOf(stack, id);
    if (Date.now() < reservation.executeTime) return reservation;
  }
}

/** Resolves when a worker sends a request for the reservation to the store at `time` or later. */
function requestAfter(id: string, time: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  stack.proxy.onRequest((_, body) => {
    if (Date.now() >= time && body.toString().includes(`#${id}"`)) resolve();
  });
  return promise;
}

describe.concurrent("Request Cancellation cancels a reservation", () => {
  test("that waits", async () => {
    const handle = await reserveAndBegin(stack, { id: "waiting", inMs: hour });
    await waitsInBackoff(handle);
    await handle.cancel();
    await expectCancelledByOperator(stack, "waiting");
  });

  test("that is held until its moment, which comes later", async () => {
    const { reservationId: id, executeTime } = await cancelHeldGrant();
    const attempted = requestAfter(id, executeTime);
    await expectCancelledByOperator(stack, id);
    // On a busy machine the attempt may be given up before its moment.
    await Promise.race([attempted, sleep(executeTime + 5_000 - Date.now())]);
    await expectNothingGranted(stack, id);
    expect(await recordOf(stack, id)).toMatchObject({
      state: "CANCELLED",
      lastChange: cancelledByOperator,
    });
  });

  test("that a sweep has set FAILED while the run sleeps", async () => {
    const handle = await reserveAndStart(stack, { id: "failed-asleep", inMs: hour });
    await grantElsewhere("failed-asleep", true);
    expect((await recordOf(stack, "failed-asleep")).state).toBe("FAILED");
    await handle.cancel();
    await expectCancelledByOperator(stack, "failed-asleep");
    const { failure } = await recordOf(stack, "failed-asleep");
    expect(failure?.reason).toBe("ACCOUNT_FROZEN");
  });
});

// Not beside the others, because a pause concerns all reservations of the program.
test("Request Cancellation cancels a reservation whose program is paused", async () => {
  const { deps, programId } = stack;
  const pause = { programId, caller: asService("desk"), reason: "an audit", deadline: undefined };
  await pauseProgramReservations(deps, pause);
  const handle = await reserveAndStart(stack, { id: "paused" });
  await isListed(stack, "paused", 'MeguriState = "PAUSED"');
  await handle.cancel();
  await expectCancelledByOperator(stack, "paused");
  await resumeProgramReservations(deps, { ...pause, reason: "" });
  await expectNothingGranted(stack, "paused");
});

/** Moves a reservation to now and executes it, as a sweep does, without telling its run. */
async function grantElsewhere(id: string, frozen = false): Promise<void> {
  const { deps, programId } = stack;
  if (frozen) await freeze(stack, id, true);
  const name = { programId, reservationId: id };
  const move = { ...name, ...change, executeTime: Date.now() - 1_000 };
  await rescheduleReservation(withoutTemporal(deps), move);
  await executeReservation(deps, { ...name, userId: id });
}

test("Request Cancellation after the grant comes too late, and the run says so", async () => {
  const handle = await reserveAndBegin(stack, { id: "late", inMs: hour });
  await waitsInBackoff(handle);
  await grantElsewhere("late");
  await handle.cancel();
  expect(await handle.result()).toMatchObject({ step: "DONE", points: 10, available_points: 10 });
  expect(await statusOf(handle)).toBe("COMPLETED");
  const details = await showsDetails(handle, "10 points available");
  expect(details).toContain("The requested cancellation came too late.");
  await expectGrantedOnce(stack, "late");
});

test("a FAILED reservation, whose run has ended, is cancelled by CancelReservation", async () => {
  const { deps, programId } = stack;
  const id = "failed";
  await freeze(stack, id, true);
  const handle = await reserveAndStart(stack, { id });
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "ACCOUNT_FROZEN" } });
  const given = { caller: asService("desk"), reason: "the shop closed" };
  await cancelReservation(deps, { programId, reservationId: id, ...given });
  expect(await reaches(stack, id, "CANCELLED")).toMatchObject({ lastChange: given });
  await freeze(stack, id, false);
  await eventually(async () => expect(await markedIds(deps, programId)).not.toContain(id));
  expect(await statusOf(handle)).toBe("FAILED");
  await expectNothingGranted(stack, id);
});
