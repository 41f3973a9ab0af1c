/** Tests bulk grants while Temporal is away, and the loss of its namespace while they run. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startActiveBulkGrants } from "../../src/bulk-grants/use-cases/reconcile.ts";
import { reconcileId } from "../../src/reservations/contract/reconciler.ts";
import { keepEnsuringSchedules } from "../../src/temporal/keep-schedules.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  submit,
  usersOf,
} from "../support/fixtures/bulk-grants.ts";
import { heldLease } from "../support/fixtures/held-lease.ts";
import { verified } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type SlackServer, startSlackServer } from "../support/servers/slack-server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { inForm } from "../support/soak.ts";

let folder: string;
let temporal: Temporal;
let slack: SlackServer;
let stack: WorkerStack;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-temporal-"));
  temporal = await startTemporal({ ignoreRunning: true, dataFile: join(folder, "first.db") });
  slack = await startSlackServer();
  stack = await startWorkerStack({
    store: "proxied dynamodb",
    temporalAddress: temporal.address,
    env: { MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl },
  });
});
afterAll(async () => {
  await stack.stop();
  await slack.stop();
  await temporal.stop();
  await rm(folder, { recursive: true });
});

/** Starts Temporal again at the same address, with its old data or without any. */
async function startAgain(data: string): Promise<void> {
  const port = Number(temporal.address.split(":")[1]);
  temporal = await startTemporal({ ignoreRunning: true, port, dataFile: join(folder, data) });
}

/** What the reconciler does with bulk grants, two minutes from now. Throws for a failure. */
async function reconcileLater(): Promise<void> {
  const { deps } = stack;
  const clock = {
    async now() {
      const { wall, calendar } = await deps.clock.now();
      return { wall: wall + 120_000, calendar };
    },
  };
  await startActiveBulkGrants({ ...deps, clock }, (_, error) => {
    throw error;
  });
}

const submitted = (options: Parameters<typeof submit>[2]) =>
  submit(stack.deps, stack.programId, options);

async function expectGrantedOnce(userIds: readonly string[]): Promise<void> {
  expect(await balances(stack, userIds)).toEqual({ 10: userIds.length });
  for (const userId of userIds.filter((_, i) => i % 50 === 0)) {
    expect(await verified(stack, userId)).toEqual({ balance: 10, entries: 1 });
  }
}

/** Takes the store away when some rows have been sent, so that the rest is not granted yet. */
function storeLeavesHalfWay(id: string): Promise<void> {
  const { proxy } = stack;
  return new Promise((resolve) => {
    let rows = 0;
    proxy.onRequest((operation, body) => {
      if (operation !== "TransactWriteItems" || !body.includes(`b:${id}_`)) return;
      rows += 1;
      if (rows < 50) return;
      proxy.onRequest(undefined);
      proxy.down(true);
      resolve();
    });
  });
}

const outcomesOf = (id: string) =>
  slack.messages.filter((text) => text.includes(id) && / is (DONE|CANCELLED)/.test(text));

test("a bulk grant is submitted and another one approved while Temporal is away", async () => {
  const count = inForm({ short: 40, long: 300 });
  const [before, after] = [usersOf("before", count), usersOf("after", count)];
  await submitted({ id: "before", userIds: before });
  const awaiting = await comesTo(stack, "before", "AWAITING_APPROVAL");
  await temporal.killHard();
  expect(await submitted({ id: "after", userIds: after })).toMatchObject({ state: "VALIDATING" });
  expect(await approve(stack.deps, awaiting)).toMatchObject({ state: "APPROVED" });

  await startAgain("first.db");
  await eventually(reconcileLater);
  expect(await bulkGrantRun(stack, "before").result()).toMatchObject({ state: "DONE" });
  await approve(stack.deps, await comesTo(stack, "after", "AWAITING_APPROVAL"));
  expect(await bulkGrantRun(stack, "after").result()).toMatchObject({ state: "DONE" });
  for (const userIds of [before, after]) await expectGrantedOnce(userIds);
  for (const id of ["before", "after"]) {
    await eventually(async () => expect(outcomesOf(id)).toHaveLength(1));
  }
});

test("bulk grants go on after their namespace is lost whole while one of them runs", async () => {
  const { deps, client, workflows } = stack;
  const userIds = usersOf("running", inForm({ short: 150, long: 600 }));
  await submitted({ id: "running", userIds });
  await submitted({ id: "waiting", userIds: usersOf("waiting", 5) });
  const waiting = await comesTo(stack, "waiting", "AWAITING_APPROVAL");
  const running = await comesTo(stack, "running", "AWAITING_APPROVAL");
  // Later than the loss of the namespace. Lost runs begin anew after a minute at the earliest.
  const executeTime = Date.now() + 60_000;
  await submitted({ id: "timed", userIds: usersOf("timed", 5), executeTime });
  await approve(deps, await comesTo(stack, "timed", "AWAITING_APPROVAL"));
  const half = storeLeavesHalfWay("running");
  await approve(deps, running);
  await half;
  await temporal.killHard();
  stack.proxy.down(false);

  // As servers do: they retry until Temporal is there.
  const { stop } = keepEnsuringSchedules(workflows, deps.reader, heldLease());
  await startAgain("second.db");
  await eventually(() => client.schedule.getHandle(reconcileId).describe());
  await stop();
  await eventually(() => client.schedule.getHandle(reconcileId).trigger());
  const ids = ["running", "waiting", "timed"];
  for (const id of ids) await eventually(() => bulkGrantRun(stack, id).describe(), 300_000);
  await approve(deps, waiting);
  for (const id of ids) {
    expect(await bulkGrantRun(stack, id).result()).toMatchObject({ state: "DONE" });
    await eventually(async () => expect(outcomesOf(id)).toHaveLength(1));
  }
  await expectGrantedOnce(userIds);
  for (const id of ["waiting", "timed"]) await expectGrantedOnce(usersOf(id, 5));
});
