/** Tests reservations of a program that is paused and resumed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { readAllPrograms } from "../../../src/points/use-cases/programs/queries.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import {
  countPausedReservations,
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../../src/reservations/use-cases/pause.ts";
import {
  expectNothingGranted,
  isListed,
  isPending,
  recordOf,
} from "../../support/fixtures/operators.ts";
import {
  change,
  eventsOf,
  expectGrantedOnce,
  handleOf,
  reserve,
  reserveAndStart,
} from "../../support/fixtures/reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

const pause = (stack: WorkerStack) =>
  pauseProgramReservations(stack.deps, {
    programId: stack.programId,
    ...{ caller: asService("desk"), reason: "an audit", deadline: undefined },
  });

const resume = ({ deps, programId }: WorkerStack, everywhere = true) =>
  resumeProgramReservations(everywhere ? deps : withoutTemporal(deps), {
    ...{ programId, deadline: undefined },
    ...{ caller: asService("desk"), reason: "the audit is over" },
  });

/** One sweep over what is overdue. */
function sweepOverdue() {
  const observers = { onDone: () => {}, onFailed: () => {} };
  return sweepAll(stack.deps, observers);
}

const countPaused = async () =>
  countPausedReservations(stack.deps, await readAllPrograms(stack.deps));

const isPaused = 'MeguriState = "PAUSED" AND MeguriReason = "PROGRAM_PAUSED"';

test("what is due while the program is paused is granted after the resume", async () => {
  // The worker has a copy of the program from before the pause.
  await reserve(stack.deps, stack.programId, { id: "before" });
  await expectGrantedOnce(stack, "before");
  await pause(stack);
  const ids = ["due", "past", "overdue"];
  const inMs = { due: 500, past: -1_000, overdue: -hour };
  for (const id of ids) {
    await reserveAndStart(stack, { id, inMs: inMs[id as keyof typeof inMs] });
  }
  for (const id of ids) {
    await isListed(stack, id, isPaused);
    expect(await handleOf(stack, id).query("details")).toBe(
      `10 points for ${id}. The program is paused by desk (an audit). ` +
        "The points are granted after ResumeProgramReservations.",
    );
    expect((await recordOf(stack, id)).state).toBe("PENDING");
  }
  expect(await sweepOverdue()).toMatchObject({ overdue: 0, granted: 0 });
  expect(await countPaused()).toEqual(new Map([[stack.programId, 3]]));
  for (const id of ids) await expectNothingGranted(stack, id);

  await resume(stack);
  for (const id of ids) {
    await expectGrantedOnce(stack, id);
    expect(await handleOf(stack, id).result()).toMatchObject({
      step: "DONE",
      available_points: 10,
    });
    // The batch operation of the resume has signalled the run, which would have slept for minutes.
    expect(await eventsOf(handleOf(stack, id))).toContain("workflowExecutionSignaled");
    await isListed(stack, id, 'MeguriState = "DONE" AND MeguriReason IS NULL');
  }
  expect(await countPaused()).toEqual(new Map());
  const page = await stack.metrics.registry.metrics();
  expect(page).toContain('meguri_reservation_lateness_seconds_count{cause="due"} 1\n');
  expect(page).toContain('meguri_reservation_lateness_seconds_count{cause="paused"} 3\n');
  expect(page).toContain("meguri_reservations_past_due 0\n");
});

test("a pause stops a grant that a worker holds already", async () => {
  const id = "held";
  const handle = await reserveAndStart(stack, { id, inMs: 6_000 });
  await isPending(handle, "grantWhenDue", "STARTED");
  await pause(stack);
  await isListed(stack, id, isPaused);
  await expectNothingGranted(stack, id);
  await resume(stack);
  await expectGrantedOnce(stack, id);
});

test("a resume signals only paused runs of its own program", async () => {
  const { deps, programId, workflows } = stack;
  await pause(stack);
  const paused = await reserveAndStart(stack, { id: "still-paused" });
  await isListed(stack, "still-paused", isPaused);
  const waiting = await reserveAndStart(stack, { id: "waits", inMs: hour });
  await workflows.refreshPaused(`${programId}-other`, "resumed");
  await resume(stack);
  await expectGrantedOnce(stack, "still-paused");
  const signals = (await eventsOf(paused)).filter((each) => each === "workflowExecutionSignaled");
  expect(signals).toHaveLength(1);
  expect(await eventsOf(waiting)).not.toContain("workflowExecutionSignaled");
  await cancelReservation(deps, { ...change, programId, reservationId: "waits" });
});

test("a paused reservation that is moved waits for its new time", async () => {
  const { deps, programId } = stack;
  const id = "moved";
  await pause(stack);
  await reserveAndStart(stack, { id });
  await isListed(stack, id, isPaused);
  const executeTime = Date.now() + hour;
  const name = { programId, reservationId: id, ...change };
  await rescheduleReservation(deps, { ...name, executeTime });
  await isListed(stack, id, 'MeguriState = "PENDING" AND MeguriReason IS NULL');
  await resume(stack);
  await expectNothingGranted(stack, id);
  await rescheduleReservation(deps, { ...name, executeTime: Date.now() });
  await expectGrantedOnce(stack, id);
});

test("a sweep grants what is overdue when the signals of a resume are lost", async () => {
  const id = "unsignalled";
  await pause(stack);
  await reserveAndStart(stack, { id, inMs: -hour });
  await isListed(stack, id, isPaused);
  await resume(stack, false);
  await expectNothingGranted(stack, id);
  expect(await sweepOverdue()).toMatchObject({ overdue: 1, granted: 1 });
  await expectGrantedOnce(stack, id);
  // A later resume, although there is no pause, tells the run.
  await resume(stack);
  expect(await handleOf(stack, id).result()).toMatchObject({ step: "DONE", available_points: 10 });
  await expectGrantedOnce(stack, id);
});
