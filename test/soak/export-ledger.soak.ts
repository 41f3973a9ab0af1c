/** Exports ledgers while the worker is killed, stopped and replaced, and the store has faults. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../src/platform/words/caller.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import { ledgerExport } from "../../src/points/use-cases/jobs/export-ledger.ts";
import { getJob, startJob } from "../../src/points/use-cases/jobs/jobs.ts";
import { createExportFolder, type ExportFolderFixture } from "../support/fixtures/export-folder.ts";
import { fillLedgers, linesByLists } from "../support/fixtures/ledgers-to-export.ts";
import { putUnknownItems } from "../support/fixtures/unknown-items.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { inForm } from "../support/soak.ts";

const programId = "shop";
const end = Date.UTC(2026, 5, 1);

let folder: ExportFolderFixture;
let stack: WorkerStack;
beforeAll(async () => {
  folder = await createExportFolder([programId]);
  const env = folder.env;
  stack = await startWorkerStack({
    store: "proxied dynamodb",
    programId,
    testClock: true,
    worker: false,
    env,
  });
  await setTime(stack.deps, Date.UTC(2026, 4, 1));
  const userIds = Array.from({ length: 100 }, (_, i) => `user-${i}`);
  await fillLedgers(stack, programId, userIds, "may");
  await putUnknownItems(stack, inForm({ short: 4_000, long: 12_000 }));
  await setTime(stack.deps, Date.UTC(2026, 6, 1));
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

const window = { start: undefined, end };

const start = (jobId: string) =>
  startJob(stack.deps, ledgerExport, {
    ...{ programId, jobId, caller: asService("tests") },
    request: { destination: "audit", end },
  });

const done = (jobId: string) =>
  eventually(async () => {
    const found = await getJob(stack.deps, ledgerExport, { programId, jobId });
    expect(found.state).toBe("DONE");
    return found.sum;
  });

test("a worker that is killed in the middle leaves no line twice and none out", async () => {
  stack.proxy.faults({ delay: 1, delayMs: [200, 1_200], operations: ["Scan"] });
  const killed = await stack.startWorkerProcess();
  await start("killed");
  const files = () => readdir(join(folder.path, "shop/killed")).catch(() => []);
  await eventually(async () => expect(await files()).not.toEqual([]));
  await killed.killHard();
  expect(await files()).not.toContain("manifest.json");

  // A worker that is stopped for longer than its heartbeats goes on beside the next one.
  const stopped = await stack.startWorkerProcess();
  await sleep(35_000);
  process.kill(stopped.pid, "SIGSTOP");
  stack.proxy.faults({ delay: 0.2, delayMs: [5, 500], throttle: 0.2, operations: ["Scan"] });
  const last = await stack.startWorkerProcess();
  await sleep(35_000);
  process.kill(stopped.pid, "SIGCONT");
  const found = await done("killed");
  const { lines } = await folder.read("shop/killed");
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
  expect(found.entries).toBe(lines.length);

  // Undisturbed, the same lines are in the same order within each segment.
  stack.proxy.faults({});
  await start("undisturbed");
  await done("undisturbed");
  expect((await folder.read("shop/undisturbed")).lines).toEqual(lines);
  await Promise.all([stopped.stop(), last.stop()]);
});
