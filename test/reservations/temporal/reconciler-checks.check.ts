/** Tests which ended runs a pass of the reconciler checks, with activities that do nothing. */
import { ApplicationFailure } from "@temporalio/common";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReconcilerInput } from "../../../src/reservations/contract/payloads.ts";
import type { SyncCounts } from "../../../src/reservations/contract/reconciler.ts";
import { sealAnswers } from "../../../src/worker/seal-answers.ts";
import { reconcilerTiming } from "../../../workflows/timing.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  workflowBundle,
} from "../../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
});
afterAll(() => stack.stop());

const nothingSynced: SyncCounts = { synced: 0, restarted: 0, terminated: 0, failed: 0 };

test("a pass checks runs again after a check that failed, and then newer ones", async () => {
  const { config, client } = stack;
  const taskQueue = "reconciler-without-store";
  const checked: number[] = [];
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const worker = await Worker.create({
    connection,
    namespace: config.temporalNamespace,
    taskQueue,
    workflowBundle: workflowBundle(),
    interceptors: { activity: [sealAnswers] },
    activities: {
      async syncRuns({ since }: Required<ReconcilerInput>) {
        checked.push(Date.parse(since));
        if (checked.length === 1) throw ApplicationFailure.nonRetryable("Temporal is away");
        return nothingSynced;
      },
    },
  });
  const running = worker.run();
  const first = Date.now() - 3_600_000;
  const args = [{ since: new Date(first).toISOString() }];
  const started = Date.now();
  const run = await client.workflow.start("reconciler", {
    ...{ workflowId: "reconciler-without-store", taskQueue, args },
  });
  await eventually(async () => expect(checked.length).toBeGreaterThanOrEqual(3));
  await run.terminate();
  worker.shutdown();
  await running;
  await connection.close();
  const [once, again, then = 0] = checked;
  expect([once, again]).toEqual([first, first]);
  expect(then).toBeGreaterThanOrEqual(started - reconcilerTiming.overlapMs);
});
