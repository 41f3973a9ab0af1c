/** Tests that no line of a real worker's log names people, nor quotes an error that may. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { describeError } from "../../src/platform/ports/described-errors.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { approve, comesTo, submit } from "../support/fixtures/bulk-grants.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { changeItem } from "../support/stores/change-item.ts";

let stack: WorkerStack;
let worker: Child;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb", worker: false });
  worker = await stack.startWorkerProcess();
});
afterAll(async () => {
  await worker?.stop();
  await stack?.stop();
});

/** Waits for a line among the last ones, of which none may name a user. */
const logged = (text: string) =>
  eventually(async () => {
    const log = worker.lastOutput();
    expect(log).toContain(text);
    expect(log).not.toContain("planted-");
  });

const zero = { N: "0" };
const old = { N: "1" };
const longer = (list: Item[string] | undefined) => ({ L: [...(list?.L ?? []), zero] });

/** Makes an account, and damages its record. */
async function damage(userId: string, change: (item: Item) => Item): Promise<void> {
  const { deps, programId, clients, config } = stack;
  const grant = { programId, userId, eventId: "e", points: 10, deadline: undefined };
  await grantPoints(deps, { ...grant, reason: "planted-reason", caller: asService("tests") });
  const key = { pk: { S: `A#${programId}#${userId}` }, sk: { S: "A" } };
  await changeItem(clients.retrying, `${config.tablePrefix}accounts`, key, change);
}

test("accounts and rows that fail are logged without their users", async () => {
  const { deps, programId, client, config } = stack;
  await damage("planted-late", ({ s, ...item }) => ({ ...item, s: longer(s), xm: old }));
  const start = { taskQueue: config.taskQueue, args: [{ program_id: programId }] };
  await client.workflow.start("monthEnd", { workflowId: "month-end-log", ...start });
  await logged("could not expire what is due in an account");
  await logged("Workflow failed");
  await damage("planted-row", (item) => ({ ...item, T: { L: [zero] }, m: old }));
  await submit(deps, programId, { id: "rows", userIds: ["planted-row"] });
  await approve(deps, await comesTo(stack, "rows", "AWAITING_APPROVAL"));
  await logged("a row could not be executed");
});

/** The lines of the worker's log. */
const lines = () =>
  worker
    .lastOutput()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

test("a failed attempt has one line, without its task token", async () => {
  const { programId, client, config } = stack;
  const start = { taskQueue: config.taskQueue, args: [{ program_id: programId }] };
  stack.proxy.down(true);
  const run = await client.workflow.start("monthEnd", { workflowId: "away", ...start });
  const attempts = () =>
    lines().filter(({ workflowId, attempt }) => workflowId === "away" && attempt !== undefined);
  await eventually(async () => expect(attempts().length).toBeGreaterThan(1));
  await run.terminate();
  stack.proxy.down(false);
  const failed = attempts();
  const names = failed.map(({ activityId, attempt }) => `${activityId} ${attempt}`);
  expect(new Set(names).size).toBe(names.length);
  for (const line of failed) expect(line).toMatchObject({ reason: expect.any(String) });
  expect(worker.lastOutput()).not.toContain("taskToken");
});

test("an attempt that fails after the end of its run has one line", async () => {
  const { programId, client, config } = stack;
  const start = { taskQueue: config.taskQueue, args: [{ program_id: programId }] };
  stack.proxy.faults({ delay: 1, delayMs: [60_000, 60_000] });
  // When the second one fails, the line of the first one's answer would be there. On a busy machine
  // a heartbeat may tell an attempt of the end first: it is cancelled then, and no failure.
  let failedCount = 0;
  for (let i = 0; failedCount < 2; i++) {
    const workflowId = `ended-${i}`;
    const run = await client.workflow.start("monthEnd", { workflowId, ...start });
    await eventually(async () => {
      const [pending] = (await run.describe()).raw.pendingActivities ?? [];
      expect(pending?.lastStartedTime).toBeTruthy();
    });
    await run.terminate();
    const fails = async () => expect(lines()).toContainEqual(failureOf(workflowId));
    failedCount += await eventually(fails, 15_000).then(
      () => 1,
      () => 0,
    );
  }
  stack.proxy.faults({});
  expect(worker.lastOutput()).not.toContain("Activity not found");
});

const failureOf = (workflowId: string) =>
  expect.objectContaining({ workflowId, msg: "an activity has failed" });

test("a workflow task that fails has one line an attempt", async () => {
  const { client, config } = stack;
  const start = { workflowId: "unknown", taskQueue: config.taskQueue };
  const run = await client.workflow.start("noSuchType", start);
  const { runId } = await run.describe();
  const failed = () => lines().filter((line) => line.runId === runId);
  await eventually(async () => expect(failed().length).toBeGreaterThan(1));
  await run.terminate();
  const texts = failed().map(({ msg }) => msg);
  expect(new Set(texts)).toEqual(new Set(["Failed to process Workflow Activation"]));
  expect(worker.lastOutput()).not.toMatch(/task_?token/i);
});

test("an error that may quote is described by its type and its place", () => {
  const error = new TypeError("planted-user is not iterable");
  const described = describeError(error);
  expect(described).toMatchObject({ type: "TypeError" });
  expect(described.at[0]).toContain("log.check.ts");
  expect(JSON.stringify(described)).not.toContain("planted-");
});

test.each([
  [{ code: "EACCES" }, { type: "Error", code: "EACCES" }],
  [{ status: 403 }, { type: "Error", code: 403 }],
  [{ code: 7 }, { type: "Error" }],
])("an error with %j is described as %j", (fields, expected) => {
  const { at: _, ...described } = describeError(Object.assign(new Error("planted-user"), fields));
  expect(described).toEqual(expected);
});
