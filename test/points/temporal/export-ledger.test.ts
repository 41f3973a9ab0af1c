/** Tests exports of ledgers against what is listed account by account. */

import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { workflowTypes } from "../../../src/platform/contract/workflow-types.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import { exportKind } from "../../../src/points/contract/exports.ts";
import { jobWorkflowId } from "../../../src/points/contract/jobs.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { getJob, startJob } from "../../../src/points/use-cases/jobs/jobs.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { steps } from "../../../workflows/timing.ts";
import {
  createExportFolder,
  type ExportFolderFixture,
} from "../../support/fixtures/export-folder.ts";
import { fillLedgers, linesByLists } from "../../support/fixtures/ledgers-to-export.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { putUnknownItems } from "../../support/fixtures/unknown-items.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

const programId = "shop";
const may = Date.UTC(2026, 4, 1);
const june = Date.UTC(2026, 5, 1);
const july = Date.UTC(2026, 6, 1);
const userIds = Array.from({ length: 100 }, (_, i) => `user-${i}`);

let folder: ExportFolderFixture;
let stack: WorkerStack;
beforeAll(async () => {
  folder = await createExportFolder([programId]);
  stack = await startWorkerStack({ programId, testClock: true, env: folder.env });
  const { deps } = stack;
  await createProgram(
    { ...deps, background: () => {} },
    { programId: `${programId}2`, timeZone: "UTC", lifetimeMonths: 12 },
  );
  await setTime(deps, may);
  await fillLedgers(stack, programId, userIds, "may");
  await fillLedgers(stack, `${programId}2`, userIds, "foreign");
  await setTime(deps, june);
  await fillLedgers(stack, programId, userIds.slice(50), "june");
  await setTime(deps, july);
  await fillLedgers(stack, programId, userIds.slice(25, 75), "july");
  await putUnknownItems(stack);
  await setTime(deps, july + 1_200_000);
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

/** An export of a window. */
const call = (jobId: string, start: number | undefined, end: number) => ({
  ...{ caller: asService("tests"), programId, jobId },
  request: { destination: "audit", start, end },
});
type Call = ReturnType<typeof call>;

const exportIdOf = (jobId: string) => jobWorkflowId({ programId, kind: exportKind.name, jobId });
const filesOf = (exportId: string) =>
  stack.deps.exportDestinations.folder("audit", { programId, exportId });

const ended = (jobId: string, { deps } = stack) =>
  eventually(async () => {
    const found = await getJob(deps, ledgerExport, { programId, jobId });
    expect(found.state).not.toBe("RUNNING");
    return { ...found, ...found.sum };
  });

async function run(asked: Call, by = stack) {
  const started = await startJob(by.deps, ledgerExport, asked);
  expect(started).toMatchObject({ ...asked, workflowId: `export-ledger/shop/${asked.jobId}` });
  return ended(asked.jobId, by);
}

test.each([
  ["all", undefined, july + 60_000],
  ["june", june, july],
  ["edge", may, june],
  ["none", june + 1, july],
] as const)("%s: the lines are those of the lists of all accounts", async (id, start, end) => {
  const found = await run(call(id, start, end));
  expect(found).toMatchObject({ state: "DONE", unreadable: 0, unreadables: [] });
  const { manifest, lines, entries } = await folder.read(`shop/${id}`);
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, { start, end }));
  expect(lines.length > 0).toBe(id !== "none");
  expect(found).toMatchObject({ entries: lines.length, parts: manifest.parts.length });
  expect(manifest).toMatchObject({ programId, exportId: id });
  const times = [manifest.createTimeFrom, manifest.createTimeBefore];
  expect(times.map((time) => time && timestampMs(time))).toEqual([start, end]);
  const last = new Map<string, bigint>();
  for (const { userId, entry } of entries) {
    expect(entry?.number).toBeGreaterThan(last.get(userId) ?? 0n);
    last.set(userId, entry?.number ?? 0n);
  }
});

test("steps of one page make several parts of a segment", async () => {
  const { exportMs } = steps;
  Object.assign(steps, { exportMs: 0 });
  onTestFinished(() => void Object.assign(steps, { exportMs }));
  const { parts } = await run(call("parts", undefined, july));
  expect(parts).toBeGreaterThan(4);
  const { lines } = await folder.read("shop/parts");
  const window = { start: undefined, end: july };
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
});

test("the same call joins the export; other times or another destination are refused", async () => {
  const { deps } = stack;
  const asked = call("june", june, july);
  const { createTime } = await getJob(deps, ledgerExport, asked);
  const again = { state: "DONE", createTime, replayed: true };
  expect(await startJob(deps, ledgerExport, asked)).toMatchObject(again);
  for (const [start, end] of [
    [undefined, july],
    [june, july - 1],
    [june + 1, july],
  ] as const) {
    const other = startJob(deps, ledgerExport, call("june", start, end));
    await expect(other).rejects.toMatchObject({ reason: "ID_REUSED" });
  }
  const missing = getJob(deps, ledgerExport, { programId, jobId: "unknown" });
  await expect(missing).rejects.toMatchObject({ reason: "JOB_NOT_FOUND" });
});

test("a run that was terminated is begun anew, without what it has left", async () => {
  const asked = call("anew", june, july);
  const { client, deps } = stack;
  // So that the run does not end before.
  await writeFile(join(folder.path, "shop/anew"), "a file");
  await startJob(deps, ledgerExport, asked);
  await client.workflow.getHandle(exportIdOf("anew")).terminate("a test");
  await rm(join(folder.path, "shop/anew"));
  expect((await getJob(deps, ledgerExport, asked)).state).toBe("FAILED");
  for (const name of ["part-0-000009.jsonl.gz", ".0b2f1c9e-6b4e-4f0a-9f53-0c8f2f7f3f10.part"]) {
    await filesOf("anew").write(name, Buffer.from("half a li"));
  }
  expect(await run(asked)).toMatchObject({ state: "DONE" });
  const window = { start: june, end: july };
  const { lines } = await folder.read("shop/anew");
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
});

test("a complete export whose record is lost stays as it is", async () => {
  const before = await folder.read("shop/june");
  // Another table, which knows nothing of it.
  const forgetful = await startWorkerStack({ programId, testClock: true, env: folder.env });
  onTestFinished(() => forgetful.stop());
  const { client, deps } = forgetful;
  await setTime(deps, july + 1_200_000);
  const forgotten = getJob(deps, ledgerExport, { programId, jobId: "june" });
  await expect(forgotten).rejects.toMatchObject({ reason: "JOB_NOT_FOUND" });
  expect(await run(call("june", june, july), forgetful)).toMatchObject({
    state: "DONE",
    entries: before.lines.length,
    parts: before.manifest.parts.length,
  });
  await showsDetails(client.workflow.getHandle(exportIdOf("june")), "It was complete already");
  expect(await folder.read("shop/june")).toEqual(before);
});

test("a manifest of other times lets the run fail", async () => {
  const { deps } = stack;
  const text = {
    ...exportKind.nothing,
    parts: [],
    acts: { parts: [], unreadable: 0, unreadables: [] },
    unreadables: [],
    programId,
    exportId: "reused",
  };
  const window = { start: june, end: july - 1 };
  const manifest = deps.exportFormat.manifest({ ...text, window });
  await filesOf("reused").write("manifest.json", Buffer.from(manifest));
  expect(await run(call("reused", june, july))).toMatchObject({ state: "FAILED" });
  const handle = stack.client.workflow.getHandle(exportIdOf("reused"));
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "ID_REUSED" } });
  expect(await readdir(join(folder.path, "shop/reused"))).toEqual(["manifest.json"]);
});

test("a run that was started by hand has no record, and fails", async () => {
  const { client, config } = stack;
  const handle = await client.workflow.start(workflowTypes.exportLedger, {
    workflowId: exportIdOf("by-hand"),
    taskQueue: config.taskQueue,
    args: [{ program_id: programId, job_id: "by-hand" }],
  });
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "JOB_NOT_FOUND" } });
});

test("an entry that cannot be read is named, and hides no other", async () => {
  const { clients, config } = stack;
  const damage = (userId: string, number: number, attribute: string) =>
    changeItem(
      clients.retrying,
      `${config.tablePrefix}points`,
      {
        pk: { S: `A#${programId}#${userId}` },
        sk: { S: `L#${String(number).padStart(12, "0")}` },
      },
      (item) => ({ ...item, [attribute]: { S: "NEWER" } }),
    );
  const window = { start: undefined, end: july };
  const whole = await linesByLists(stack, programId, window);
  // A type of a newer version, a time and points that are no numbers: first entries of their items.
  await damage("user-3", 4, "y");
  await damage("user-4", 4, "t");
  await damage("user-5", 1, "p");
  const found = await run(call("damaged", undefined, july));
  expect(found).toMatchObject({ state: "DONE", entries: whole.length - 3, unreadable: 3 });
  const unreadables = [
    { userId: "user-3", number: 4 },
    { userId: "user-4", number: 4 },
    { userId: "user-5", number: 1 },
  ];
  const byUser = (a: { userId: string }, b: { userId: string }) => (a.userId < b.userId ? -1 : 1);
  expect(found.unreadables.toSorted(byUser)).toEqual(unreadables);
  const { manifest, lines } = await folder.read("shop/damaged");
  expect(manifest.unreadableEntries).toHaveLength(3);
  expect(whole.filter((line) => !lines.includes(line))).toHaveLength(3);
  const handle = stack.client.workflow.getHandle(exportIdOf("damaged"));
  await showsDetails(handle, "3 could not be read");
  await showsDetails(handle, "The manifest is written. It lists 0 acts, too.");
});

test("a folder that cannot be written is tried again until it can", async () => {
  await writeFile(join(folder.path, "shop/blocked"), "a file");
  await startJob(stack.deps, ledgerExport, call("blocked", june, july));
  await rm(join(folder.path, "shop/blocked"));
  expect(await ended("blocked")).toMatchObject({ state: "DONE" });
});
