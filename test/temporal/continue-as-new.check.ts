/** Tests workflows that continue as new, on a Temporal that suggests it after a few events. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { endsRunOfSchedule } from "../../src/platform/contract/how-to-end.ts";
import {
  callerKey,
  executeTimeKey,
  pointsKey,
  programKey,
  stateKey,
  userKey,
} from "../../src/platform/temporal/search-attributes.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { formatInstant } from "../../src/platform/words/month.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import { ledgerExport } from "../../src/points/use-cases/jobs/export-ledger.ts";
import { getJob, startJob } from "../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport } from "../../src/points/use-cases/jobs/liability.ts";
import { verification } from "../../src/points/use-cases/jobs/verification.ts";
import { reservationHowToEnd } from "../../src/reservations/contract/reservations.ts";
import { rescheduleReservation } from "../../src/reservations/use-cases/commands.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { steps } from "../../workflows/timing.ts";
import { createExportFolder, type ExportFolderFixture } from "../support/fixtures/export-folder.ts";
import { fillLedgers, linesByLists } from "../support/fixtures/ledgers-to-export.ts";
import { recordOf, showsDetails } from "../support/fixtures/operators.ts";
import {
  beginRun,
  change,
  endsAsCanceled,
  expectGrantedOnce,
  reserveAndStart,
  verified,
} from "../support/fixtures/reservations.ts";
import { usersOfShard } from "../support/fixtures/shards.ts";
import { putUnknownItems } from "../support/fixtures/unknown-items.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let temporal: Temporal;
let stack: WorkerStack;
let exports: ExportFolderFixture;
beforeAll(async () => {
  temporal = await startTemporal({
    ignoreRunning: true,
    dynamicConfig: { "limit.historyCount.suggestContinueAsNew": "12" },
  });
  const temporalAddress = temporal.address;
  exports = await createExportFolder(["shop"]);
  stack = await startWorkerStack({
    temporalAddress,
    programId: "shop",
    env: exports.env,
    testClock: true,
    lifetime: 3,
  });
});
afterAll(async () => {
  await stack.stop();
  await temporal.stop();
  await exports.delete();
});

/** Moves a reservation by Updates, each time by so long, and returns its handle. */
async function moved(id: string, points: number, byMs: number) {
  const handle = await reserveAndStart(stack, { id, points, inMs: 3_600_000 });
  const { runId } = await handle.describe();
  for (let i = 1; i <= 10; i++) {
    const execute_time = new Date(Date.now() + 3_600_000 + i * byMs).toISOString();
    await eventually(() => handle.executeUpdate("reschedule", { args: [{ execute_time }] }));
  }
  return { handle, isContinued: (await handle.describe()).runId !== runId };
}

/** Moves a reservation to later times until its run has continued as new. Returns its handle. */
async function continued(id: string, points: number) {
  const { handle, isContinued } = await moved(id, points, 60_000);
  expect(isContinued).toBe(true);
  return handle;
}

test("a reservation that was moved to earlier times goes on with its run", async () => {
  const { handle, isContinued } = await moved("earlier", 10, -60_000);
  expect(isContinued).toBe(false);
  const execute_time = new Date(Date.now() + 1_000).toISOString();
  await handle.executeUpdate("reschedule", { args: [{ execute_time }] });
  await expectGrantedOnce(stack, "earlier");
});

test("a reservation that is rescheduled ten times is granted once", async () => {
  const { deps, programId } = stack;
  const handle = await continued("moved", 10);
  const executeTime = Date.now() + 2_000;
  await rescheduleReservation(deps, { ...change, programId, reservationId: "moved", executeTime });
  await expectGrantedOnce(stack, "moved");
  expect(await handle.result()).toMatchObject({ step: "DONE", available_points: 10 });
  const { typedSearchAttributes } = await handle.describe();
  expect(typedSearchAttributes.get(programKey)).toBe(programId);
  expect(typedSearchAttributes.get(stateKey)).toBeUndefined();
  expect(typedSearchAttributes.get(executeTimeKey)).toEqual(new Date(executeTime));
});

test("a continued run still shows how much goes to whom, and can be cancelled", async () => {
  const handle = await continued("stopped", 120);
  const { executeTime } = await recordOf(stack, "stopped");
  await eventually(async () => {
    const { typedSearchAttributes: attributes } = await handle.describe();
    expect([
      attributes.get(pointsKey),
      attributes.get(userKey),
      attributes.get(callerKey),
      attributes.get(stateKey),
      attributes.get(executeTimeKey)?.getTime(),
    ]).toEqual([120, "stopped", "tests", undefined, executeTime]);
  });
  const time = formatInstant(executeTime, "Asia/Tokyo");
  // It begins when the first run was to begin, or upon a change.
  await beginRun(stack, "stopped");
  const details = await showsDetails(handle, `120 points for stopped. Waits until ${time}.`);
  expect(details).toContain("- reserved by: ren via tests");
  expect(details.indexOf(reservationHowToEnd)).toBe(0);
  expect(await (await handle.describe()).staticDetails()).toBeUndefined();
  await handle.cancel();
  await endsAsCanceled(stack, "stopped");
  expect(await verified(stack, "stopped")).toEqual({ balance: 0, entries: 0 });
});

test("a month-end sweep, a verification and a report finish all their parts", async () => {
  const { deps, programId, client, config } = stack;
  // Steps of one page, and a shard of three pages.
  const { limitMs } = steps;
  Object.assign(steps, { limitMs: 0 });
  onTestFinished(() => void Object.assign(steps, { limitMs }));
  await setTime(deps, Date.UTC(2027, 0, 10));
  const userIds = usersOfShard(0, 70);
  for (const userId of userIds) {
    const change = { programId, userId, eventId: "e", reason: "", caller: asService("tests") };
    await grantPoints(deps, { ...change, points: 7, deadline: undefined });
  }
  // These accounts and the two of the reservations above.
  await setTime(deps, Date.UTC(2027, 3, 1));
  const expired = userIds.length + 2;
  const handle = await client.workflow.start("monthEnd", {
    workflowId: "month-end-parts",
    taskQueue: config.taskQueue,
    args: [{ program_id: programId }],
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: stateKey, value: "RUNNING" },
    ],
  });
  const months = { month: "2027-03", granted_up_to: "2027-01" };
  expect(await handle.result()).toMatchObject({ expired, unchanged: 0, failed: 0, months });
  const description = await handle.describe();
  expect(description.runId).not.toBe(handle.firstExecutionRunId);
  expect(description.typedSearchAttributes.get(programKey)).toBe(programId);
  expect(description.typedSearchAttributes.get(stateKey)).toBe("DONE");
  const monthEnd = await showsDetails(handle, "The month end of March 2027");
  expect(monthEnd.indexOf(endsRunOfSchedule())).toBe(0);

  await putUnknownItems(stack);
  const call = { programId, jobId: "parts", caller: asService("tests") };
  const compared = await startJob(deps, verification, { ...call, request: { repair: false } });
  const first = await ends(compared.workflowId);
  expect(first.result).toMatchObject({ accounts: expired, wrong: 0 });
  const report = await startJob(deps, liabilityReport, { ...call, request: {} });
  const second = await ends(report.workflowId);
  expect(second.result).toMatchObject({ accounts: expired, members: 0, failed: 0 });
  for (const { runs } of [first, second]) expect(new Set(runs).size).toBe(2);
  const { sum } = await getJob(deps, liabilityReport, call);
  expect(sum).toMatchObject({ accounts: expired, totals: { expiredPoints: "510" } });
});

/** Waits for the end of a workflow; `runs` are the ids of its first and last run. */
async function ends(workflowId: string) {
  const handle = stack.client.workflow.getHandle(workflowId);
  const first = await handle.describe();
  const result = await handle.result();
  return { result, runs: [first.runId, (await handle.describe()).runId] };
}

test("an export keeps its parts and its counts", async () => {
  const { deps, programId, client } = stack;
  const { exportMs } = steps;
  Object.assign(steps, { exportMs: 0 });
  onTestFinished(() => void Object.assign(steps, { exportMs }));
  const userIds = Array.from({ length: 60 }, (_, i) => `exported-${i}`);
  await fillLedgers(stack, programId, userIds, "april");
  await putUnknownItems(stack);
  await setTime(deps, Date.UTC(2027, 4, 1));
  const window = { start: undefined, end: Date.UTC(2027, 3, 20) };
  const call = { programId, jobId: "parts", caller: asService("tests") };
  const request = { destination: "audit", end: window.end };
  const { workflowId } = await startJob(deps, ledgerExport, { ...call, request });
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const found = await eventually(async () => {
    const each = await getJob(deps, ledgerExport, call);
    expect(each.state).toBe("DONE");
    return each;
  });
  const last = client.workflow.getHandle(workflowId);
  expect((await last.describe()).runId).not.toBe(runId);
  // The input of a run does not grow with the files of those before it.
  const { events } = await last.fetchHistory();
  const begun = events?.[0]?.workflowExecutionStartedEventAttributes;
  const [input] = (begun?.input?.payloads ?? []).map(({ data }) =>
    Buffer.from(data ?? "").toString(),
  );
  expect(JSON.parse(input ?? "")).toMatchObject({
    so_far: { list: expect.stringMatching(/^\.[0-9a-f]{64}\.list$/) },
  });
  expect(input).not.toContain("unfinished");
  const { manifest, lines } = await exports.read("shop/parts");
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
  expect(found.sum).toMatchObject({ entries: lines.length, parts: manifest.parts.length });
  expect(found.sum.parts).toBeGreaterThan(4);
});
