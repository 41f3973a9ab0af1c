/** Tests exports of ledgers against what is listed account by account. */

import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { workflowTypes } from "../../../src/platform/contract/workflow-types.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import { exportWorkflowId } from "../../../src/points/contract/exports.ts";
import type { ExportCall, LedgerExport } from "../../../src/points/ports/exports.ts";
import { finishExport } from "../../../src/points/use-cases/export-files.ts";
import { exportLedger, getLedgerExport } from "../../../src/points/use-cases/export-ledger.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { steps } from "../../../workflows/timing.ts";
import {
  createExportFolder,
  type ExportFolderFixture,
} from "../../support/fixtures/export-folder.ts";
import { fillLedgers, fillTable, linesByLists } from "../../support/fixtures/ledgers-to-export.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { namesIn } from "../../support/servers/export-ports.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

const programId = "shop";
const may = Date.UTC(2026, 4, 1);
const june = Date.UTC(2026, 5, 1);
const july = Date.UTC(2026, 6, 1);
const userIds = Array.from({ length: 40 }, (_, i) => `user-${i}`);

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
  await fillLedgers(stack, programId, userIds.slice(20), "june");
  await setTime(deps, july);
  await fillLedgers(stack, programId, userIds.slice(10, 30), "july");
  await fillTable(stack, 6_000);
  await setTime(deps, july + 1_200_000);
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

const request = (exportId: string, start: number | undefined, end: number): ExportCall => ({
  caller: asService("tests"),
  programId,
  exportId,
  destination: "audit",
  window: { start, end },
});

const ended = (exportId: string, { deps } = stack): Promise<LedgerExport> =>
  eventually(async () => {
    const found = await getLedgerExport(deps, { programId, exportId });
    expect(found.state).not.toBe("RUNNING");
    return found;
  });

async function run(asked: ExportCall, by = stack): Promise<LedgerExport> {
  const started = await exportLedger(by.deps, asked);
  expect(started).toMatchObject({ ...asked, workflowId: `export-ledger/shop/${asked.exportId}` });
  return ended(asked.exportId, by);
}

test.each([
  ["all", undefined, july + 60_000],
  ["june", june, july],
  ["edge", may, june],
  ["none", june + 1, july],
] as const)("%s: the lines are those of the lists of all accounts", async (id, start, end) => {
  const found = await run(request(id, start, end));
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
  const { parts } = await run(request("parts", undefined, july));
  expect(parts).toBeGreaterThan(4);
  const { lines } = await folder.read("shop/parts");
  const window = { start: undefined, end: july };
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
});

test("the same call joins the export; other times or another destination are refused", async () => {
  const { deps } = stack;
  const asked = request("june", june, july);
  const { startTime } = await getLedgerExport(deps, asked);
  expect(await exportLedger(deps, asked)).toMatchObject({ state: "DONE", startTime });
  for (const [start, end] of [
    [undefined, july],
    [june, july - 1],
    [june + 1, july],
  ] as const) {
    const other = exportLedger(deps, request("june", start, end));
    await expect(other).rejects.toMatchObject({ reason: "ID_REUSED" });
  }
  const missing = getLedgerExport(deps, { programId, exportId: "unknown" });
  await expect(missing).rejects.toMatchObject({ reason: "EXPORT_NOT_FOUND" });
});

test("a run that was terminated is begun anew, without what it has left", async () => {
  const asked = request("anew", june, july);
  const { client, deps } = stack;
  await deps.workflows.startExport(asked);
  const handle = client.workflow.getHandle(exportWorkflowId(programId, "anew"));
  await handle.terminate("a test");
  expect((await getLedgerExport(deps, asked)).state).toBe("FAILED");
  const left = deps.exportDestinations.folder("audit", asked);
  for (const name of ["part-0-000009.jsonl.gz", ".0b2f1c9e-6b4e-4f0a-9f53-0c8f2f7f3f10.part"]) {
    await left.write(name, Buffer.from("half a li"));
  }
  expect(await run(asked)).toMatchObject({ state: "DONE" });
  const window = { start: june, end: july };
  const { lines } = await folder.read("shop/anew");
  expect(lines.toSorted()).toEqual(await linesByLists(stack, programId, window));
});

test("a complete export that Temporal has forgotten stays as it is", async () => {
  const before = await folder.read("shop/june");
  // Another namespace: Temporal forgets a run that is deleted within half a minute.
  const forgetful = await startWorkerStack({ programId, testClock: true, env: folder.env });
  onTestFinished(() => forgetful.stop());
  const { client, deps } = forgetful;
  await setTime(deps, july + 1_200_000);
  const forgotten = getLedgerExport(deps, { programId, exportId: "june" });
  await expect(forgotten).rejects.toMatchObject({ reason: "EXPORT_NOT_FOUND" });
  expect(await run(request("june", june, july), forgetful)).toMatchObject({
    state: "DONE",
    entries: before.lines.length,
    parts: before.manifest.parts.length,
  });
  const handle = client.workflow.getHandle(exportWorkflowId(programId, "june"));
  await showsDetails(handle, "It was complete already");
  expect(await folder.read("shop/june")).toEqual(before);
});

test("a manifest of other times lets the run fail", async () => {
  const asked = request("reused", june, july);
  const { deps } = stack;
  const other = deps.exportDestinations.folder("audit", asked);
  const text = { ...asked, entries: 0, parts: [], unreadable: 0, unreadables: [] };
  const window = { start: june, end: july - 1 };
  await other.write("manifest.json", Buffer.from(deps.exportFormat.manifest({ ...text, window })));
  expect(await run(asked)).toMatchObject({ state: "FAILED" });
  const handle = stack.client.workflow.getHandle(exportWorkflowId(programId, "reused"));
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "ID_REUSED" } });
  expect(await readdir(join(folder.path, "shop/reused"))).toEqual(["manifest.json"]);
});

test("a run that was started by hand is checked, and the API says who has it", async () => {
  const { client, config, deps } = stack;
  const start = (exportId: string, end: number) =>
    client.workflow.start(workflowTypes.exportLedger, {
      workflowId: exportWorkflowId(programId, exportId),
      taskQueue: config.taskQueue,
      args: [
        {
          ...{ program_id: programId, export_id: exportId, destination: "audit" },
          create_time_before: end,
        },
      ],
    });
  const early = await start("too-early", july + 1_200_000);
  await expect(early.result()).rejects.toMatchObject({ cause: { type: "INVALID_REQUEST" } });
  const byHand = await start("by-hand", july);
  await byHand.result();
  expect((await folder.read("shop/by-hand")).lines).not.toEqual([]);
  const message = expect.stringContaining("started by hand");
  const again = exportLedger(deps, request("by-hand", undefined, july));
  await expect(again).rejects.toMatchObject({ reason: "ID_REUSED", message });
  const reading = getLedgerExport(deps, { programId, exportId: "by-hand" });
  await expect(reading).rejects.toMatchObject({ reason: "EXPORT_NOT_FOUND", message });
});

test("an export with a part that somebody has deleted gets no manifest", async () => {
  const asked = request("deleted", june, july);
  const { deps } = stack;
  const opened = deps.exportDestinations.folder("audit", asked);
  const parts = [{ name: "part-0-000001.jsonl.gz", entries: 1, bytes: 1, sha256: "0".repeat(64) }];
  const manifest = { ...asked, entries: 1, parts, unreadable: 0, unreadables: [] };
  const finishing = finishExport(deps, "audit", manifest);
  await expect(finishing).rejects.toMatchObject({ reason: "WRONG_STATE", retryable: false });
  expect(await namesIn(opened)).toEqual([]);
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
  const found = await run(request("damaged", undefined, july));
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
  const handle = stack.client.workflow.getHandle(exportWorkflowId(programId, "damaged"));
  await showsDetails(handle, "3 could not be read");
  await showsDetails(handle, "The manifest is written.");
});

test("a folder that cannot be written is tried again until it can", async () => {
  const asked = request("blocked", june, july);
  await writeFile(join(folder.path, "shop/blocked"), "a file");
  await exportLedger(stack.deps, asked);
  await rm(join(folder.path, "shop/blocked"));
  expect(await ended("blocked")).toMatchObject({ state: "DONE" });
});
