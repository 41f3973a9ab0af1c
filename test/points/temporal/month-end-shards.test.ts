/** Tests that workers share the shards of a month end. */

import { NativeConnection } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { shardCount } from "../../../src/points/contract/points.ts";
import { createWorker } from "../../../src/worker.ts";
import { composeAs } from "../../support/deploy/compose-as.ts";
import {
  startWorkerStack,
  type WorkerStack,
  workflowBundle,
} from "../../support/servers/worker.ts";

const quiet = createLogger("test", "silent");

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
});
afterAll(() => stack.stop());

/** Starts a worker that finds due accounts by this function. Returns how to stop it. */
async function startWorkerWith(dueAccounts: Deps["reader"]["dueAccounts"]) {
  const { config, workflows, metrics } = stack;
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const { deps: real, close } = composeAs(["worker"], config, workflows, quiet, stack.clients);
  const deps = { ...real, reader: { ...real.reader, dueAccounts } };
  const bundle = workflowBundle();
  const worker = await createWorker({ connection, config, bundle, deps, metrics, log: quiet });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await close();
    await connection.close();
  };
}

test("two workers take several shards each, all of which are under way at once", async () => {
  const shards: { worker: number; shard: number }[] = [];
  const allRun = Promise.withResolvers<void>();
  const ofWorker = (worker: number) =>
    startWorkerWith(async (_, shard) => {
      shards.push({ worker, shard });
      if (shards.length === shardCount) allRun.resolve();
      await allRun.promise;
      return { items: [] };
    });
  const stops = await Promise.all([ofWorker(0), ofWorker(1)]);
  const { client, config, programId } = stack;
  await client.workflow.execute("monthEnd", {
    workflowId: "month-end-shards",
    taskQueue: config.taskQueue,
    args: [{ program_id: programId }],
  });
  for (const stop of stops) await stop();
  expect(new Set(shards.map(({ shard }) => shard)).size).toBe(shardCount);
  for (const worker of [0, 1]) {
    const taken = shards.filter((each) => each.worker === worker).length;
    expect(taken).toBeGreaterThanOrEqual(shardCount / 4);
  }
});
