/** Tests resets of runs whose worker was away, or whose store was, when their time came. */
import type { WorkflowUpdateHandle } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refreshSignal } from "../../../src/platform/contract/record-runs.ts";
import type { ReservationView } from "../../../src/reservations/contract/reservations.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { rescheduleReservation } from "../../../src/reservations/use-cases/commands.ts";
import {
  expectResetGrants,
  failsFrozen,
  grantedOnce,
  isPending,
  recordOf,
  reset,
  waitsInBackoff,
} from "../../support/fixtures/operators.ts";
import {
  change,
  freeze,
  handleOf,
  reserveAndBegin,
  reserveAndStart,
  verified,
} from "../../support/fixtures/reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  stopWorker = await stack.startWorker();
});
afterAll(() => stack.stop());

describe("when the store is back after an outage", () => {
  const tos = ["first", "last"] as const;
  let retry: WorkflowUpdateHandle<ReservationView>;
  /** The last change of the reservation that is granted, as it was during the outage. */
  let lastChange: Reservation["lastChange"];
  beforeAll(async () => {
    stack.storeDown(true);
    const ids = [...tos.map((to) => `patient-${to}`), "retrying"];
    for (const id of ids) await reserveAndStart(stack, { id });
    for (const id of ids) await isPending(handleOf(stack, id), "grantAgain", "SCHEDULED");
    for (const to of tos) await freeze(stack, `patient-${to}`, true);
    ({ lastChange } = await recordOf(stack, "retrying"));
    const retrying = handleOf(stack, "retrying");
    retry = await retrying.startUpdate<ReservationView, []>("retry", { waitForStage: "ACCEPTED" });
    stack.storeDown(false);
  });

  test("the Update retry of a reservation that is tried again changes nothing of it", async () => {
    const id = "retrying";
    const handle = handleOf(stack, id);
    const answer = await retry.result().catch(({ cause }: Error) => cause);
    // The run may have been faster.
    expect([{ state: "PROCESSING" }, { type: "WRONG_STATE" }]).toContainEqual(
      answer instanceof ApplicationFailure
        ? { type: answer.type }
        : { state: (answer as ReservationView).state },
    );
    expect(await handle.result()).toMatchObject({ step: "DONE", available_points: 10 });
    expect((await recordOf(stack, id)).lastChange).toEqual(lastChange);
    expect(await verified(stack, id)).toEqual({ balance: 10, entries: 1 });
  });

  test.each(tos)("a reset to the %s workflow task grants once after a refusal", async (to) => {
    const id = `patient-${to}`;
    await failsFrozen(stack, id);
    await expectResetGrants(stack, id, to);
  });
});

/** Fails the record as a sweep does, while its run sleeps and no worker runs. */
async function failBySweep(id: string): Promise<void> {
  const { deps, programId } = stack;
  const handle = await reserveAndBegin(stack, { id, inMs: hour });
  await waitsInBackoff(handle);
  await stopWorker();
  await freeze(stack, id, true);
  const executeTime = Date.now() - 60_000;
  const move = { ...change, programId, reservationId: id, executeTime };
  await rescheduleReservation(withoutTemporal(deps), move);
  const swept = await sweepAll(deps, {
    onDone: () => {},
    onFailed: () => {},
  });
  expect(swept).toMatchObject({ refused: 1, granted: 0, failed: 0 });
  expect((await recordOf(stack, id)).state).toBe("FAILED");
}

async function restartWorker(): Promise<void> {
  stopWorker = await stack.startWorker();
}

describe.each(["first", "last"] as const)("a reset to the %s workflow task grants once", (to) => {
  test("after a sweep was refused, when the sleeping run has read that", async () => {
    const id = `swept-${to}`;
    await failBySweep(id);
    await restartWorker();
    await handleOf(stack, id).signal(refreshSignal);
    await failsFrozen(stack, id);
    await expectResetGrants(stack, id, to);
  });

  test("after a sweep was refused, while the run still sleeps", async () => {
    const id = `asleep-${to}`;
    await failBySweep(id);
    await freeze(stack, id, false);
    const handle = await reset(stack, id, to);
    await restartWorker();
    expect(await handle.result()).toMatchObject({ step: "DONE" });
    expect(await verified(stack, id)).toEqual(grantedOnce);
  });
});
