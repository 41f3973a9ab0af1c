/** Tests workflows that continue as new, on a Temporal that suggests it after a few events. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { grantPoints } from "../../src/app/points/commands.ts";
import { getProgramVerification, verifyProgram } from "../../src/app/points/verify.ts";
import { rescheduleReservation } from "../../src/app/reservations/commands.ts";
import { setTime } from "../../src/app/test-clock.ts";
import { startTemporal, type Temporal } from "../../src/dev/stack/temporal-dev-server.ts";
import { programKey } from "../../src/temporal/search-attributes.ts";
import { expectGrantedOnce, reserveAndStart } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let temporal: Temporal;
let stack: WorkerStack;
beforeAll(async () => {
  temporal = await startTemporal({
    ignoreRunning: true,
    dynamicConfig: { "limit.historyCount.suggestContinueAsNew": "12" },
  });
  const temporalAddress = temporal.address;
  stack = await startWorkerStack({ temporalAddress, testClock: true, lifetime: 3 });
});
afterAll(async () => {
  await stack.stop();
  await temporal.stop();
});

test("a reservation that is rescheduled ten times is granted once", async () => {
  const { deps, programId } = stack;
  const handle = await reserveAndStart(stack, { id: "moved", inMs: 3_600_000 });
  const { runId } = await handle.describe();
  for (let i = 1; i <= 10; i++) {
    const execute_time = new Date(Date.now() + 3_600_000 - i * 1_000).toISOString();
    await eventually(() => handle.executeUpdate("reschedule", { args: [{ execute_time }] }));
  }
  const executeTime = Date.now() + 500;
  await rescheduleReservation(deps, { programId, reservationId: "moved", executeTime });
  await expectGrantedOnce(stack, "moved");
  const described = await handle.describe();
  expect(described.runId).not.toBe(runId);
  expect(described.memo?.summary).toContain("10 points for moved");
  expect(described.typedSearchAttributes.get(programKey)).toBe(programId);
});

test("a month-end sweep and a verification finish all their parts", async () => {
  const { deps, programId, client, config } = stack;
  await setTime(deps, Date.UTC(2027, 0, 10));
  const userIds = Array.from({ length: 60 }, (_, i) => `user-${i}`);
  for (const userId of userIds) {
    const change = { programId, userId, eventId: "e", reason: "", caller: "tests" };
    await grantPoints(deps, { ...change, points: 7, deadline: undefined });
  }
  // These accounts and the one of the reservation above.
  await setTime(deps, Date.UTC(2027, 3, 1));
  const settled = userIds.length + 1;
  const handle = await client.workflow.start("monthEnd", {
    workflowId: "month-end-parts",
    taskQueue: config.taskQueue,
    args: [{ program: programId }],
  });
  expect(await handle.result()).toEqual({ settled, vain: 0, failed: 0 });
  expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);

  await verifyProgram(deps, programId);
  await eventually(async () => {
    const found = await getProgramVerification(deps, programId);
    expect(found).toMatchObject({ state: "DONE", accounts: settled, wrong: 0 });
  });
});
