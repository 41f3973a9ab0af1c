/** Tests which acts an export writes, and that a repetition writes the same files. */
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { actRef } from "../../../src/acts/ports/records.ts";
import type { Act } from "../../../src/acts/rules/act.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { writeActs } from "../../../src/points/use-cases/jobs/export-acts.ts";
import { finishExport, openExport } from "../../../src/points/use-cases/jobs/export-files.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { jobOf } from "../../support/fixtures/jobs.ts";
import {
  createMemoryFolder,
  exportPorts,
  namesIn,
  noActs,
} from "../../support/servers/export-ports.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "shop";
const dayMs = 86_400_000;
const created = Date.UTC(2026, 4, 1);

const act = (time: number, requestId = "q"): Act => ({
  ...{ programId, time, requestId, method: "FreezeAccount", via: "CALL" },
  ...{ caller: asService("desk"), objectType: "account", objectId: "u", userId: "u" },
  ...{ changes: [{ field: "frozen", before: "false", after: "true" }], reason: "fraud" },
});

/** A program with these acts. */
function setUp(acts: readonly Act[]) {
  const { deps: rest, store } = memoryDeps({ time: Date.UTC(2026, 10, 1) });
  const lifetimes = [{ lifetimeMonths: 12, effectiveTime: 0 }];
  const program = { programId, timeZone: "UTC", lifetimes, createTime: created };
  store.force(programRef(programId), program);
  for (const each of acts) store.force(actRef(each), each);
  return { ...rest, store, ...exportPorts() };
}

const idsIn = (content: Uint8Array | undefined): string[] =>
  gunzipSync(content ?? expect.fail())
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).requestId);

test("an export has the acts of its window, the newest first, and lists their file", async () => {
  const window = { start: created + dayMs, end: created + 90 * dayMs };
  const inside = [act(window.start, "first"), act(window.end - 1, "last")];
  const outside = [act(window.start - 1, "before"), act(window.end, "after")];
  const foreign = { ...act(window.start, "foreign"), programId: "cafe" };
  const deps = setUp([...inside, ...outside, foreign]);
  const job = jobOf(ledgerExport, programId, { destination: "audit", ...window });
  const folder = deps.exportDestinations.folder("audit", { programId, exportId: job.jobId });
  const nothing = { entries: 0, parts: 0, bytes: 0, unreadable: 0, unreadables: [] };
  for (const _ of [1, 2]) {
    expect(await ledgerExport.finish?.(deps, job, nothing, { files: [] })).toBe(
      "The manifest is written. It lists 2 acts, too.",
    );
  }
  const name = "acts-000001.jsonl.gz";
  expect((await namesIn(folder)).toSorted()).toEqual([name, "manifest.json"]);
  expect(idsIn(await folder.read(name))).toEqual(["last", "first"]);
  const manifest = Buffer.from((await folder.read("manifest.json")) ?? "").toString();
  expect(JSON.parse(manifest).actParts).toMatchObject([{ name, entryCount: "2" }]);
  expect(await openExport(deps, job)).toEqual(nothing);

  // As if a later version wrote it in other bytes.
  deps.store.force(actRef(act(window.start, "other")), act(window.start, "other"));
  await ledgerExport.finish?.(deps, job, nothing, { files: [] });
  expect(idsIn(await folder.read(name))).toEqual(["last", "first"]);

  await folder.remove(name);
  await expect(openExport(deps, job)).rejects.toMatchObject({ reason: "WRONG_STATE" });
  const none = finishExport(deps, job, nothing, { files: [], acts: noActs });
  await expect(none).rejects.toMatchObject({ reason: "WRONG_STATE" });
});

test("an act that cannot be read is named, and hides no other", async () => {
  const damaged = { ...act(created + dayMs, "damaged"), method: undefined as never };
  const deps = setUp([act(created, "first"), damaged, act(created + 2 * dayMs, "last")]);
  const job = jobOf(ledgerExport, programId, { destination: "audit", end: created + 9 * dayMs });
  const folder = deps.exportDestinations.folder("audit", { programId, exportId: job.jobId });
  const nothing = { entries: 0, parts: 0, bytes: 0, unreadable: 0, unreadables: [] };
  for (const _ of [1, 2]) {
    expect(await ledgerExport.finish?.(deps, job, nothing, { files: [] })).toBe(
      "The manifest is written. It lists 2 acts, too, and names 1 act that could not be read.",
    );
  }
  expect(idsIn(await folder.read("acts-000001.jsonl.gz"))).toEqual(["last", "first"]);
  const manifest = Buffer.from((await folder.read("manifest.json")) ?? "").toString();
  const key = `shop#2026-05-02 00${created + dayMs}#damaged`;
  expect(JSON.parse(manifest)).toMatchObject({ unreadableActCount: "1", unreadableActs: [key] });
  expect(await openExport(deps, job)).toEqual(nothing);
});

test("a line is the message of the act", async () => {
  const deps = setUp([act(created)]);
  const folder = createMemoryFolder();
  await writeActs(deps, folder, programId, { start: undefined, end: created + 1 });
  const content = await folder.read("acts-000001.jsonl.gz");
  expect(JSON.parse(gunzipSync(content ?? expect.fail()).toString())).toEqual({
    ...{ programId, createTime: "2026-05-01T00:00:00Z", requestId: "q", via: "VIA_CALL" },
    ...{ caller: { service: "desk", subject: "desk" }, method: "FreezeAccount" },
    ...{ objectType: "account", objectId: "u", userId: "u", reason: "fraud" },
    changes: [{ field: "frozen", before: "false", after: "true" }],
  });
});

test("no day long before the program is read, and a file has at most 20,000 acts", async () => {
  const deps = setUp([]);
  const acts = [...Array(20_001)].map((_, i) => act(created + i, `q${i}`));
  const days: number[] = [];
  const reader: typeof deps.reader = {
    ...deps.reader,
    async actsOfDay(_program, day, _window, { size, cursor = "0" }) {
      days.push(day);
      if (day !== created) return { items: [], unreadable: [] };
      const next = Number(cursor) + size;
      const rest = next < acts.length ? { cursor: String(next) } : {};
      return { items: acts.slice(Number(cursor), next), unreadable: [], ...rest };
    },
  };
  const folder = createMemoryFolder();
  const window = { start: undefined, end: created + dayMs };
  const { parts } = await writeActs({ ...deps, reader }, folder, programId, window);
  expect(parts.map(({ name, entries }) => [name, entries])).toEqual([
    ["acts-000001.jsonl.gz", 20_000],
    ["acts-000002.jsonl.gz", 1],
  ]);
  expect(Math.min(...days)).toBe(created - dayMs);
});
