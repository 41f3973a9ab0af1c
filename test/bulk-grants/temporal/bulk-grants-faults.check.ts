/** Tests bulk grants whose runs, workers or Temporal are away, and the reconciler's part in it. */
import type { WorkflowFailedError } from "@temporalio/client";
import { CancelledFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import { bulkRefreshSignal } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { pendingUploadRef } from "../../../src/bulk-grants/ports/records.ts";
import { startActiveBulkGrants } from "../../../src/bulk-grants/use-cases/reconcile.ts";
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { startTemporal, type Temporal } from "../../../tools/dev/stack/temporal-dev-server.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  readBulk,
  submit,
  usersOf,
} from "../../support/fixtures/bulk-grants.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { showsDetails, statusOf } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

let stack: WorkerStack;
let temporal: Temporal;
let short: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  temporal = await startTemporal({
    ignoreRunning: true,
    dynamicConfig: { "limit.historyCount.suggestContinueAsNew": "12" },
  });
  short = await startWorkerStack({
    temporalAddress: temporal.address,

    env: { MEGURI_BULK_ROWS_PER_SECOND: "200" },
  });
});
afterAll(async () => {
  await Promise.all([stack.stop(), short.stop()]);
  await temporal.stop();
});

/** What the reconciler does with bulk grants, `ms` from now. */
const startRuns = (ms = 0) =>
  startActiveBulkGrants({ ...stack.deps, clock: laterClock(stack.deps, ms) }, (_, error) =>
    expect.unreachable(String(error)),
  );

test("a bulk grant outlives Temporal at submit and at approve, workers and its run", async () => {
  const away = withoutTemporal(stack.deps);
  const userIds = usersOf("away", 300);
  const bulkGrant = await submit(away, stack.programId, { id: "away", userIds });
  const run = bulkGrantRun(stack, "away");
  await expect(run.describe()).rejects.toThrow("not found");

  await startRuns();
  expect(await statusOf(run)).toBe("RUNNING");
  let stop = await stack.startWorker();
  await comesTo(stack, "away", "AWAITING_APPROVAL");
  await stop();

  await approve(away, bulkGrant);
  stop = await stack.startWorker();
  // It waits for the approval, whose signal is lost, until the reconciler misses its run.
  await startRuns(120_000);
  await eventually(async () => {
    expect((await balances(stack, userIds.slice(0, 100)))[10]).toBeGreaterThan(10);
  });
  await run.terminate("an operator");
  await startRuns();
  expect(await run.result()).toMatchObject({ state: "DONE", counts: { granted_count: 300 } });
  expect(await balances(stack, userIds)).toEqual({ 10: 300 });
  await stop();
});

test("a pass of the reconciler starts runs, and drops uploads that were cut off", async () => {
  const { deps, programId } = stack;
  const late = { ...deps, clock: laterClock(deps, 2 * 86_400_000) };
  await submit(withoutTemporal(deps), programId, { id: "pass", userIds: ["pass-0"] });
  async function* cutOff() {
    yield { userId: "a", points: 1, reason: "" };
    throw new Error("the connection was lost");
  }
  const uploads = await pendingUploads(deps);
  const cut = {
    ...deps,
    sheets: { ...deps.sheets, deleteRows: () => Promise.reject(new Error()) },
  };
  await submitBulkGrant(
    cut,
    { programId, bulkGrantId: "cut", submitter: asService("a") },
    { rows: cutOff() },
  ).catch(() => {});
  const [uploadId = ""] = (await pendingUploads(deps)).filter((id) => !uploads.includes(id));
  expect(uploadId).not.toBe("");

  const { syncRuns } = createActivities({ deps: late, ...noObservers });
  await new MockActivityEnvironment().run(() => syncRuns({ since: "2026-01-01T00:00:00Z" }));
  expect(await deps.reader.get(pendingUploadRef(uploadId))).toBeUndefined();
  expect(await statusOf(bulkGrantRun(stack, "pass"))).toBe("RUNNING");
});

test("a cancellation of a run that is about to continue as new is not lost", async () => {
  // The history becomes too long before the cancellation, with it, or after it.
  const cancelAfter = async (refreshes: number) => {
    const id = `continued-${refreshes}`;
    await submit(short.deps, short.programId, { id, userIds: [id] });
    const run = bulkGrantRun(short, id);
    await comesTo(short, id, "AWAITING_APPROVAL");
    for (let i = 0; i < refreshes; i++) await run.signal(bulkRefreshSignal);
    await run.cancel();
    const ended = await run.result().catch((error: WorkflowFailedError) => error.cause);
    expect(ended).toBeInstanceOf(CancelledFailure);
    expect((await readBulk(short, id)).bulkGrant.state).toBe("CANCELLED");
  };
  await Promise.all([0, 1, 2, 3, 4, 5].map(cancelAfter));
});

const laterClock = (deps: Deps, ms: number): Deps["clock"] => ({
  async now() {
    const { wall, calendar } = await deps.clock.now();
    return { wall: wall + ms, calendar };
  },
});

const pendingUploads = async ({ reader }: Deps): Promise<string[]> =>
  (await reader.pendingUploads({ size: 100, cursor: undefined })).items.map(
    ({ uploadId }) => uploadId,
  );

test("a run with a long history continues as new, where it was", async () => {
  const userIds = usersOf("long", 1_001);
  const bulkGrant = await submit(short.deps, short.programId, { id: "long", userIds });
  const run = bulkGrantRun(short, "long");
  await comesTo(short, "long", "AWAITING_APPROVAL");
  await approve(short.deps, bulkGrant);
  await eventually(async () => {
    expect((await balances(short, userIds.slice(0, 100)))[10]).toBeGreaterThan(10);
  });
  const by = [{ subject: "operator" }] as [unknown];
  const { runId } = await run.describe();
  await run.executeUpdate("pause", { args: by });
  await showsDetails(run, "Paused by operator via temporal.");
  await eventually(async () => expect((await run.describe()).runId).not.toBe(runId));
  const { events } = await run.fetchHistory();
  const { input } = events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  const text = new TextDecoder().decode(input?.payloads?.[0]?.data ?? undefined);
  // One of the two ranges of two and three blocks, or both, at one of their later blocks.
  expect(JSON.parse(text)).toMatchObject({ left: { step: "RUN", run: 1, revision: 1 } });
  const { grantedCount: granted } = (await readBulk(short, "long")).progress;
  const ranges: { from: number; to: number }[] = JSON.parse(text).left.ranges;
  expect(ranges.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(
    Math.ceil((1_001 - granted) / 250),
  );
  await run.executeUpdate("resume", { args: by });
  expect(await run.result()).toMatchObject({ state: "DONE", counts: { granted_count: 1_001 } });
  expect(await balances(short, userIds)).toEqual({ 10: 1_001 });
});
