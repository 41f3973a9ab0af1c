/** Tests worker processes that are killed while they wait, grant points or run the sweep. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { grantPoints } from "../../src/app/points/commands.ts";
import { setTime } from "../../src/app/test-clock.ts";
import type { MonthEndResult } from "../../src/contract.ts";
import type { Child } from "../../src/dev/stack/child.ts";
import { shardOf } from "../../src/store/dynamodb/codecs/codec.ts";
import {
  expectGrantedOnce,
  reserveAndStart,
  stateOf,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let worker: Child | undefined;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false, testClock: true, lifetime: 3 });
});
afterEach(async () => {
  stack.proxy.faults({});
  await worker?.stop();
});
afterAll(() => stack.stop());

const ids = (name: string) => Array.from({ length: 20 }, (_, i) => `${name}-${i}`);

describe("a worker killed", () => {
  test("while reservations sleep leaves them to the next one", async () => {
    worker = await stack.startWorkerProcess();
    for (const id of ids("asleep")) await reserveAndStart(stack, { id, inMs: 3_000 });
    await worker.killHard();
    worker = await stack.startWorkerProcess();
    for (const id of ids("asleep")) await expectGrantedOnce(stack, id);
  });

  test("while it grants leaves every grant done once", async () => {
    const { proxy } = stack;
    worker = await stack.startWorkerProcess();
    for (const id of ids("granting")) await reserveAndStart(stack, { id, inMs: 2_000 });
    let transactions = 0;
    proxy.onRequest((operation) => {
      if (operation === "TransactWriteItems") transactions += 1;
    });
    // Half of the grants are delayed and reach the store after the worker was killed.
    proxy.faults({ delay: 0.5, delayMs: [900, 900], operations: ["TransactWriteItems"] });
    await eventually(async () => expect(transactions).toBeGreaterThan(5));
    await worker.killHard();
    proxy.onRequest(undefined);
    proxy.faults({});
    worker = await stack.startWorkerProcess();
    for (const id of ids("granting")) await expectGrantedOnce(stack, id);
  });

  test("during a month-end sweep is continued by the next one", async () => {
    const { deps, programId, proxy, client, config } = stack;
    await setTime(deps, Date.UTC(2027, 0, 10));
    const userIds = usersOfShard(0, 4 * 32);
    for (let i = 0; i < userIds.length; i += 16) {
      await Promise.all(userIds.slice(i, i + 16).map((userId) => grantTo(userId)));
    }
    await setTime(deps, Date.UTC(2027, 3, 1));
    let transactions = 0;
    proxy.onRequest((operation) => {
      if (operation === "TransactWriteItems") transactions += 1;
    });
    // A page of 32 accounts takes so long that its heartbeat is sent before the next page.
    proxy.faults({ delay: 1, delayMs: [1_500, 1_500], operations: ["TransactWriteItems"] });
    worker = await stack.startWorkerProcess();
    const handle = await client.workflow.start("monthEnd", {
      workflowId: "month-end-killed",
      taskQueue: config.taskQueue,
      args: [{ program: programId }],
    });
    await eventually(async () => expect(transactions).toBeGreaterThan(3 * 32), 60_000);
    await worker.killHard();
    proxy.onRequest(undefined);
    proxy.faults({});
    worker = await stack.startWorkerProcess();
    const { settled } = (await handle.result()) as MonthEndResult;
    for (const userId of userIds) {
      expect(await verified(stack, userId)).toEqual({ balance: 0, entries: 2 });
    }
    // From the start, the next worker would have counted only the accounts that were left.
    expect(settled).toBeGreaterThanOrEqual(2 * 32);
  }, 120_000);
});

/** User ids that fall into one shard of the expiry index. */
const usersOfShard = (shard: number, count: number) =>
  Array.from({ length: count * 50 }, (_, i) => `sweep-${i}`)
    .filter((userId) => shardOf(userId) === shard)
    .slice(0, count);

function grantTo(userId: string) {
  const { deps, programId } = stack;
  const event = { programId, userId, eventId: "january", reason: "", caller: "tests", points: 5 };
  return patiently(() => grantPoints(deps, { ...event, deadline: undefined }));
}

test("a process with a prebuilt bundle exports the lateness and stops on SIGTERM", async () => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-bundle-"));
  const file = join(folder, "workflows.js");
  await promisify(execFile)(process.execPath, ["src/ops/build-workflows.ts", file]);
  worker = await stack.startWorkerProcess({ MEGURI_WORKFLOW_BUNDLE: file });
  await reserveAndStart(stack, { id: "measured" });
  await eventually(async () => expect(await stateOf(stack, "measured")).toBe("DONE"));
  const ready = worker
    .lastOutput()
    .split("\n")
    .map((line) => JSON.parse(line));
  const port = ready.find(({ msg }) => msg === "ready").metricsPort;
  await sleep(100);
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(await response.text()).toContain("meguri_reservation_lateness_seconds_count 1");
  expect(ready.filter(({ level }) => level >= 40)).toEqual([]);
  await worker.stop();
  expect(await worker.exited).toBe("exit code 0");
  await rm(folder, { recursive: true });
});
