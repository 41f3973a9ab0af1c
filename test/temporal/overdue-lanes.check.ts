/** Tests that a long pass of the reconciler is divided into lanes, which workers share. */
import type { temporal } from "@temporalio/proto";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OverdueStep, OverdueStepResult, SyncCounts } from "../../src/contract/reconciler.ts";
import { expectGrantedOnce, reserve } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
  workflowBundle,
} from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb", worker: false });
});
afterAll(() => stack.stop());

const nothingSynced: SyncCounts = { synced: 0, restarted: 0, terminated: 0, failed: 0 };

/** Runs the reconciler with this activity until `isEnough`. Returns its details and its run ids. */
async function reconcile(
  name: string,
  executeOverdue: (step: OverdueStep) => Promise<OverdueStepResult>,
  isEnough: () => void,
) {
  const { config, client } = stack;
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const worker = await Worker.create({
    connection,
    namespace: config.temporalNamespace,
    taskQueue: name,
    workflowBundle: workflowBundle(),
    activities: { executeOverdue, syncRuns: async () => nothingSynced },
  });
  const running = worker.run();
  const options = { workflowId: name, taskQueue: name, args: [{}] as [object] };
  const { firstExecutionRunId } = await client.workflow.start("reconciler", options);
  await eventually(async () => isEnough());
  const first = client.workflow.getHandle(name, firstExecutionRunId);
  const details = await eventually(async () => {
    const metadata = await first.query<temporal.api.sdk.v1.IWorkflowMetadata>(
      "__temporal_workflow_metadata",
    );
    expect(metadata.currentDetails).toContain("Pass of");
    return metadata.currentDetails;
  });
  const latest = client.workflow.getHandle(name);
  const { runId } = await latest.describe();
  await latest.terminate();
  worker.shutdown();
  await running;
  await connection.close();
  return { details, isContinued: runId !== firstExecutionRunId };
}

test("lanes take turns, 16 at a time, and are counted as one pass", async () => {
  const steps: OverdueStep[] = [];
  const allRun = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const lanes = Array.from({ length: 20 }, (_, i) => ({ cursor: `${i}`, until: `${i + 1}` }));
  const divided = [
    { cursor: "0 long", until: "0 behind" },
    { cursor: "0 behind", until: "1" },
  ];
  const executeOverdue = async (step: OverdueStep): Promise<OverdueStepResult> => {
    steps.push(step);
    const { cursor, until, ways: _, ...before } = step;
    const counts = { ...before, overdue: before.overdue + 1, granted: before.granted + 1 };
    if (steps.length === 1) return { ...counts, cursor: "0", lanes };
    if (until === undefined) return before;
    running += 1;
    most = Math.max(most, running);
    if (running === 16) allRun.resolve();
    await allRun.promise;
    running -= 1;
    // Behind a long shard in the first lane, there is more.
    if (cursor !== "0") return counts;
    return { ...counts, cursor: "0 long", lanes: divided };
  };
  const { details, isContinued } = await reconcile("lanes", executeOverdue, () =>
    expect(steps.filter(({ cursor }) => cursor === undefined).length).toBeGreaterThan(1),
  );
  expect(most).toBe(16);
  const [first, ...others] = steps;
  expect(first).toMatchObject({ ways: 8 });
  const inLanes = others.filter(({ until }) => until !== undefined);
  const worked = inLanes.map(({ cursor, until }) => ({ cursor, until }));
  expect(worked.length).toBe(lanes.length + divided.length);
  expect(worked).toEqual(expect.arrayContaining([...lanes, ...divided]));
  // What was divided waits for the lanes that are left.
  for (const { cursor } of worked.slice(0, 16)) expect(cursor).not.toContain(" ");
  for (const { ways } of inLanes) expect(ways).toBe(1);
  // The last step has the counts of the whole pass, for the metrics.
  const [last] = others.filter(({ cursor, until }) => cursor === "20" && until === undefined);
  expect(last).toMatchObject({ overdue: 23, granted: 23 });
  expect(details).toContain("Overdue: 23, of which 23 granted");
  expect(isContinued).toBe(true);
});

test("a worker of the previous version divides no pass", async () => {
  const steps: [cursor: string | undefined, overdue: number][] = [];
  const executeOverdue = async (step: OverdueStep): Promise<OverdueStepResult> => {
    steps.push([step.cursor, step.overdue]);
    const { cursor: _, ...counts } = { ...step, overdue: step.overdue + 1 };
    return steps.length < 3 ? { ...counts, cursor: `${steps.length}` } : counts;
  };
  const { isContinued } = await reconcile("previous", executeOverdue, () =>
    expect(steps.length).toBeGreaterThan(3),
  );
  expect(steps.slice(0, 4)).toEqual([
    [undefined, 0],
    ["1", 1],
    ["2", 2],
    [undefined, 0],
  ]);
  expect(isContinued).toBe(false);
});

test("a run whose history is too long for lanes takes step after step to the end", async () => {
  const steps: OverdueStep[] = [];
  // Temporal suggests to continue as new from 4 MB on.
  const failure = { program_id: "p".repeat(1e6), reservation_id: "r", reason: "INTERNAL" };
  const executeOverdue = async (step: OverdueStep): Promise<OverdueStepResult> => {
    steps.push(step);
    const { cursor: _, ways, ...before } = step;
    const counts = { ...before, overdue: before.overdue + 1, failures: [failure] };
    // The first steps are those of a worker of the previous version.
    const wereLong = steps.filter((each) => each.ways === undefined).length;
    return wereLong < 3 ? { ...counts, cursor: `${steps.length}` } : { ...counts, failures: [] };
  };
  const { details } = await reconcile("long", executeOverdue, () => {
    expect(steps.at(-1)?.ways).toBeUndefined();
    expect(steps.filter((each) => each.ways === undefined).length).toBe(3);
  });
  expect(details).toContain(`Overdue: ${steps.length}`);
});

test("two workers share the lanes, and one takes over those of a killed one", async () => {
  const { client, config, proxy, deps, programId } = stack;
  const ids = Array.from({ length: 400 }, (_, i) => `r-${i}`);
  for (const id of ids) await reserve(withoutTemporal(deps), programId, { id, inMs: -60_000 });
  // A step of 5 s executes about 60 of them. The lanes then take long enough to be seen at work.
  proxy.faults({ delay: 1, delayMs: [2_000, 2_000], operations: ["TransactWriteItems"] });
  const workers = await Promise.all([stack.startWorkerProcess(), stack.startWorkerProcess()]);
  const { taskQueue } = config;
  const run = await client.workflow.start("reconciler", {
    ...{ workflowId: "reconciler", taskQueue, args: [{}] },
  });
  const [killed, other] = workers;
  await eventually(async () => {
    const { raw } = await run.describe();
    const identities = raw.pendingActivities?.map(({ lastWorkerIdentity }) => lastWorkerIdentity);
    for (const { pid } of workers) {
      expect(identities?.filter((each) => each?.startsWith(`${pid}@`)).length).toBeGreaterThan(0);
    }
    expect(identities?.length).toBeGreaterThan(2);
  });
  process.kill(killed.pid, "SIGKILL");
  proxy.faults({});
  for (const id of ids) await expectGrantedOnce(stack, id);
  await client.workflow.getHandle("reconciler").terminate();
  await other.stop();
});
