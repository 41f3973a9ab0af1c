/** Tests what happens to schedules, and to their runs, that are not as this process wants them. */
import { randomUUID } from "node:crypto";
import type { ScheduleDescription, WorkflowHandle } from "@temporalio/client";
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { createProgram } from "../../src/points/use-cases/programs/commands.ts";
import { fullReconcileId, reconcileId } from "../../src/reservations/contract/reconciler.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import type { TemporalWorkflows } from "../../src/temporal/temporal-workflows.ts";
import { createWorkflows } from "../../src/temporal/workflows.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

type Line = { msg: string; scheduleId?: string; changed?: Record<string, unknown> };

let stack: WorkerStack;
let monthEnd: string;
const opened: TemporalWorkflows[] = [];
beforeAll(async () => {
  // Without a worker, each run stays where it was started.
  stack = await startWorkerStack({ worker: false });
  monthEnd = monthEndId(stack.programId);
});
afterAll(async () => {
  await Promise.all(opened.map((workflows) => workflows.close()));
  await stack.stop();
});

/** Another process, which may have another task queue, and what it logs. */
function anotherProcess(taskQueue = stack.config.taskQueue) {
  const lines: Line[] = [];
  const log: Logger = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const { temporalAddress: address, temporalNamespace: namespace } = stack.config;
  const workflows = createWorkflows({ address, namespace, taskQueue, log });
  opened.push(workflows);
  const ensure = () => patiently(() => ensureSchedules(workflows, stack.deps.reader));
  const updated = () => lines.filter(({ msg }) => msg === "a schedule was updated");
  return { workflows, ensure, lines, updated };
}

const schedule = (id: string) => stack.client.schedule.getHandle(id);
const describe = (id: string) => schedule(id).describe();

/** The settings, as an update by an operator sends them back. */
const settings = ({ spec, policies, action, state }: ScheduleDescription) => ({
  spec,
  policies,
  action,
  state,
});

/** Triggers a run that holds up later ones, as one that was due does, and returns it. */
async function runOf(id: string): Promise<WorkflowHandle> {
  await schedule(id).trigger("BUFFER_ONE");
  return eventually(async () => {
    const [action] = (await describe(id)).info.runningActions;
    if (!action) throw new Error("not started yet");
    const { workflowId, firstExecutionRunId } = action.workflow;
    return stack.client.workflow.getHandle(workflowId, firstExecutionRunId);
  });
}

/** The second in which a schedule has started a run. The workflow id ends with it. */
const secondOf = ({ workflowId }: WorkflowHandle) =>
  Date.parse(workflowId.slice(-"2026-01-01T00:00:00Z".length));

const reasonOf = async (run: WorkflowHandle) =>
  (await run.fetchHistory()).events?.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason;

test("a schedule that is right is left alone", async () => {
  const { ensure, updated } = anotherProcess();
  await ensure();
  await ensure();
  expect(updated()).toEqual([]);
  for (const id of [monthEnd, reconcileId]) {
    expect((await describe(id)).info.lastUpdatedAt).toBeUndefined();
  }
});

test("the reconciler is started again within a minute, and ends when it is stuck", async () => {
  const { spec, policies, action } = await describe(reconcileId);
  expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
  expect(policies).toMatchObject({ overlap: "SKIP", catchupWindow: 60_000 });
  expect(action).toMatchObject({
    workflowType: "reconciler",
    workflowRunTimeout: 75 * 60_000,
    args: [{}],
    staticSummary: "correct the runs of reservations, holds and bulk grants, every 30 s",
  });
});

test("what an older version or somebody else has set is updated, and logged", async () => {
  const wanted = settings(await describe(monthEnd));
  const reconciler = settings(await describe(reconcileId));
  const { workflowRunTimeout: _, ...action } = wanted.action;
  await schedule(monthEnd).update(({ spec, state }) => ({
    spec: { ...spec, calendars: spec.calendars?.slice(1) ?? [], timezone: "Asia/Seoul" },
    policies: { overlap: "SKIP", catchupWindow: "1 day", pauseOnFailure: true },
    action: { ...action, staticSummary: "old", args: [{ program: "old" }] },
    state,
  }));
  await schedule(reconcileId).update((found) => ({
    ...settings(found),
    spec: { intervals: [{ every: "1 hour", offset: "5 minutes" }], jitter: "3 seconds" },
    action: { ...found.action, workflowType: "old", workflowExecutionTimeout: "1 minute" },
  }));

  const { ensure, updated } = anotherProcess();
  await ensure();
  expect(settings(await describe(monthEnd))).toEqual(wanted);
  expect(settings(await describe(reconcileId))).toEqual(reconciler);
  const changed = Object.fromEntries(
    updated().map((line) => [line.scheduleId, Object.keys(line.changed ?? {}).sort()]),
  );
  expect(changed).toEqual({
    [monthEnd]: [
      "args",
      "calendars",
      "catchupWindow",
      "overlap",
      "pauseOnFailure",
      "runTimeout",
      "summary",
      "timeZone",
    ],
    [reconcileId]: ["executionTimeout", "intervals", "jitter", "workflowType"],
  });
  const timeZone = { from: "Asia/Seoul", to: "Asia/Tokyo" };
  expect(updated().find(({ scheduleId }) => scheduleId === monthEnd)?.changed).toMatchObject({
    timeZone,
    catchupWindow: { from: 24 * 3_600_000, to: 365 * 24 * 3_600_000 },
  });
});

test("an operator's pause, note and limit survive an update", async () => {
  await schedule(monthEnd).update((found) => ({
    ...settings(found),
    policies: { overlap: "SKIP" },
    state: { paused: true, note: "until the audit is over", remainingActions: 7 },
  }));
  await anotherProcess().ensure();
  const { state, policies } = await describe(monthEnd);
  expect(policies.overlap).toBe("BUFFER_ONE");
  expect(state).toEqual({ paused: true, note: "until the audit is over", remainingActions: 7 });
  await schedule(monthEnd).update((found) => ({
    ...settings(found),
    state: { paused: false, note: "" },
  }));
});

test("several processes may update at once, and one later changes nothing", async () => {
  await schedule(monthEnd).update((found) => ({
    ...settings(found),
    policies: { overlap: "ALLOW_ALL" },
  }));
  const processes = Array.from({ length: 5 }, () => anotherProcess());
  await Promise.all(processes.map(({ ensure }) => ensure()));
  const later = anotherProcess();
  await later.ensure();
  expect((await describe(monthEnd)).policies.overlap).toBe("BUFFER_ONE");
  expect(later.updated()).toEqual([]);
});

test("runs on another task queue are started again on the right one", async () => {
  const before = [await runOf(monthEnd), await runOf(reconcileId)];
  // Temporal mixes up two runs of one id.
  await eventually(async () => {
    const latest = Math.max(...before.map(secondOf));
    expect(Date.now()).toBeGreaterThanOrEqual(latest + 1_000);
  });
  const pass = stack.client.workflow.getHandle(fullReconcileId);
  const taskQueue = `other-${randomUUID()}`;
  const processes = Array.from({ length: 3 }, () => anotherProcess(taskQueue));
  await Promise.all(processes.map(({ ensure }) => ensure()));

  for (const run of before) {
    expect((await run.describe()).status.name).toBe("TERMINATED");
    expect(await reasonOf(run)).toBe(`runs on another task queue than ${taskQueue}`);
  }
  for (const id of [monthEnd, reconcileId]) {
    await eventually(async () => {
      const { info, action } = await describe(id);
      expect(action.taskQueue).toBe(taskQueue);
      const [running] = info.runningActions;
      if (!running) throw new Error("not started yet");
      const run = stack.client.workflow.getHandle(running.workflow.workflowId);
      expect(await run.describe()).toMatchObject({ taskQueue, status: { name: "RUNNING" } });
    });
  }
  expect(await pass.describe()).toMatchObject({ taskQueue, status: { name: "RUNNING" } });

  // What runs on the right queue is left alone.
  const { runId } = await pass.describe();
  const running = (await describe(monthEnd)).info.runningActions;
  await processes[0]?.ensure();
  expect((await pass.describe()).runId).toBe(runId);
  expect((await describe(monthEnd)).info.runningActions).toEqual(running);
});

test("a paused schedule starts no run in place of one on another task queue", async () => {
  const programId = `paused-${randomUUID().slice(0, 8)}`;
  const { deps } = stack;
  await createProgram(
    { ...deps, background: () => {} },
    { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 },
  );
  await anotherProcess().ensure();
  const id = monthEndId(programId);
  const run = await runOf(id);
  await schedule(id).pause("no sweep today");
  await anotherProcess(`other-${randomUUID()}`).ensure();
  expect((await run.describe()).status.name).toBe("TERMINATED");
  await eventually(async () => expect((await describe(id)).info.runningActions).toEqual([]));
  const { info, state } = await describe(id);
  expect(info.numActionsTaken).toBe(1);
  expect(state).toMatchObject({ paused: true, note: "no sweep today" });
});
