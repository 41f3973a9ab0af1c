/** Tests that a run's history names the builds that worked on it, and that no build owns a run. */
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Child } from "../../tools/dev/stack/child.ts";
import { endsAsCanceled, reserveAndBegin } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let worker: Child | undefined;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
});
afterAll(async () => {
  await worker?.stop();
  await stack.stop();
});

/** The deployments and builds of the run's workflow tasks, each once, in their order. */
async function buildsOf(run: WorkflowHandle): Promise<string[]> {
  const { events } = await run.fetchHistory();
  const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) =>
    task ? [`${task.workerDeploymentName}/${task.workerVersion?.buildId}`] : [],
  );
  return [...new Set(builds)];
}

test("a reservation that slept under one build is finished by the next", async () => {
  worker = await stack.startWorkerProcess({ MEGURI_BUILD_ID: "build-7" });
  const run = await reserveAndBegin(stack, { id: "asleep", inMs: 3_600_000 });
  await eventually(async () => expect(await buildsOf(run)).toEqual(["meguri/build-7"]));
  await worker.stop();
  worker = await stack.startWorkerProcess({ MEGURI_BUILD_ID: "build-8" });
  await run.executeUpdate("cancel");
  await endsAsCanceled(stack, "asleep");
  expect(await buildsOf(run)).toEqual(["meguri/build-7", "meguri/build-8"]);
  const query = 'BuildIds = "unversioned:build-8"';
  await eventually(async () => {
    expect(await stack.client.workflow.count(query)).toMatchObject({ count: 1 });
  });
});
