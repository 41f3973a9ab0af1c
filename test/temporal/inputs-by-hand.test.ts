/** Tests runs that were started by hand without their input: they end, or need none. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { workflowTypes } from "../../src/contract/workflow-types.ts";
import { showsDetails } from "../support/fixtures/operators.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** The reconciler and the starts of all runs need no input. */
const needInput = Object.values(workflowTypes).filter(
  (type) => type !== workflowTypes.reconciler && type !== workflowTypes.startRuns,
);

test.each(needInput.flatMap((type) => [[], [null], ["shop"]].map((args) => [type, args] as const)))(
  "a run of %s that was started with %j fails",
  async (type, args) => {
    const { client, config } = stack;
    const workflowId = `${type}-${JSON.stringify(args)}`;
    const started = { workflowId, taskQueue: config.taskQueue, args };
    const handle = await client.workflow.start(type, started);
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: "INVALID_REQUEST" } });
  },
);

test("a run of the reconciler that was started without an input goes on", async () => {
  const { client, config } = stack;
  const started = { workflowId: "reconciler-by-hand", taskQueue: config.taskQueue };
  const handle = await client.workflow.start(workflowTypes.reconciler, started);
  await showsDetails(handle, "Runs");
  await handle.terminate();
});
