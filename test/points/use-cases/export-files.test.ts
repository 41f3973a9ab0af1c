/** Tests what an export does with files that are not as it has left them, on files in memory. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ExportFolder, ExportManifest } from "../../../src/points/ports/exports.ts";
import {
  type ExportedFile,
  finishExport,
  openExport,
  storeList,
} from "../../../src/points/use-cases/jobs/export-files.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { jobOf } from "../../support/fixtures/jobs.ts";
import { exportPorts, namesIn, noActs } from "../../support/servers/export-ports.ts";

const job = jobOf(ledgerExport, "shop", { destination: "audit", start: 1_000, end: 9_000 });
const name = { programId: "shop", exportId: job.jobId };
const part = "part-0-000001.jsonl.gz";
const manifest: ExportManifest = {
  ...{ ...name, window: { start: 1_000, end: 9_000 }, entries: 1 },
  parts: [{ name: part, entries: 1, bytes: 5, sha256: "0".repeat(64) }],
  ...{ acts: noActs, unreadable: 0, unreadables: [] },
};
const exported = { entries: 1, parts: 1, bytes: 5, unreadable: 0, unreadables: [] };
const final = { reason: "WRONG_STATE", retryable: false };

let deps: ReturnType<typeof exportPorts>;
let folder: ExportFolder;
beforeEach(() => {
  deps = exportPorts();
  folder = deps.exportDestinations.folder("audit", name);
});
const write = (name: string, content: string) => folder.write(name, Buffer.from(content));
const writeManifest = (changes: Partial<ExportManifest> = {}) =>
  write("manifest.json", deps.exportFormat.manifest({ ...manifest, ...changes }));

test.each([
  ["no text", ""],
  ["half of one", '{"programId":"shop","exportId'],
  ["JSON of another program", '{"version":3,"files":["secret"]}'],
  ["no object", "[]"],
])("a manifest that is %s ends the export, and nothing is overwritten", async (_, text) => {
  await write("manifest.json", text);
  await write(part, "lines");
  const refusal = await openExport(deps, job).catch((error) => error);
  expect(refusal).toMatchObject({
    ...final,
    message: expect.stringMatching(/^manifest.json in the folder is not one/),
  });
  expect(refusal.message).not.toContain("secret");
  expect(await namesIn(folder)).toEqual(["manifest.json", part]);
});

test.each([{ programId: "shop2" }, { exportId: "2026-12" }])(
  "nor is one of %o ours",
  async (id) => {
    await writeManifest(id);
    await write(part, "lines");
    await expect(openExport(deps, job)).rejects.toMatchObject(final);
  },
);

test("a manifest of other times is not replaced", async () => {
  await writeManifest({ window: { start: 1_000, end: 9_001 } });
  await expect(openExport(deps, job)).rejects.toMatchObject({ reason: "ID_REUSED" });
  expect(await namesIn(folder)).toEqual(["manifest.json"]);
});

describe("a complete export", () => {
  beforeEach(async () => {
    await writeManifest();
    await write(part, "lines");
  });

  test("stays as it is", async () => {
    expect(await openExport(deps, job)).toEqual(exported);
    expect(await namesIn(folder)).toEqual(["manifest.json", part]);
  });

  test.each(["line", "lines and more", undefined])("is none with %j as a part", async (content) => {
    await (content === undefined ? folder.remove(part) : write(part, content));
    const opening = openExport(deps, job);
    await expect(opening).rejects.toMatchObject({
      ...final,
      message: expect.stringContaining("delete manifest.json"),
    });
  });

  test("keeps its parts when a run is reset, or started twice", async () => {
    const unfinished = ".0b2f1c9e-6b4e-4f0a-9f53-0c8f2f7f3f10.unfinished";
    await write(unfinished, "other lines");
    const file = { segment: 0, name: unfinished, entries: 1, bytes: 11, sha256: "1".repeat(64) };
    await expect(
      finishExport(deps, job, exported, { files: [file], acts: noActs }),
    ).rejects.toMatchObject(final);
    expect(Buffer.from((await folder.read(part)) ?? "").toString()).toBe("lines");
  });
});

test("an export with a file of another size, or without it, gets no manifest", async () => {
  const [written] = manifest.parts;
  const file = { ...(written ?? expect.fail()), segment: 0, name: ".x.unfinished" };
  await expect(
    finishExport(deps, job, exported, { files: [file], acts: noActs }),
  ).rejects.toMatchObject(final);
  await write(file.name, "line");
  await expect(
    finishExport(deps, job, exported, { files: [file], acts: noActs }),
  ).rejects.toMatchObject(final);
  expect(await namesIn(folder)).toEqual([file.name]);
  await write(file.name, "lines");
  for (const _ of [1, 2]) await finishExport(deps, job, exported, { files: [file], acts: noActs });
  expect(await openExport(deps, job)).toEqual(exported);
});

describe("the files of an export with several runs", () => {
  /** Writes a file of a step, as the step names it. */
  const written = async (segment: number, number: number): Promise<ExportedFile> => {
    const file = { segment, name: `.${segment}-${number}.unfinished`, entries: 1, bytes: 5 };
    await write(file.name, "lines");
    return { ...file, sha256: String(number).repeat(64) };
  };
  const sum = { ...exported, entries: 5, parts: 5, bytes: 25 };

  /** Stores the lists of two runs, and returns the files of the last one. */
  async function runs() {
    const first = await storeList(deps, job, { files: [await written(1, 1), await written(0, 1)] });
    const files = [await written(1, 2), await written(0, 2)];
    const list = await storeList(deps, job, { files, list: first });
    return { first, list, files: [await written(1, 3)], acts: noActs };
  }

  const digests = async () => {
    const content = await folder.read("manifest.json");
    const { parts } = deps.exportFormat.readManifest(Buffer.from(content ?? "").toString());
    return parts.map(({ name, sha256 }) => [name, sha256[0]]);
  };
  const complete = [
    ["part-0-000001.jsonl.gz", "1"],
    ["part-0-000002.jsonl.gz", "2"],
    ["part-1-000001.jsonl.gz", "1"],
    ["part-1-000002.jsonl.gz", "2"],
    ["part-1-000003.jsonl.gz", "3"],
  ];

  test("become parts in the order of the runs, and the lists are deleted", async () => {
    const listed = await runs();
    for (const _ of [1, 2]) await finishExport(deps, job, sum, listed);
    expect(await digests()).toEqual(complete);
    const names = ["manifest.json", ...complete.map(([name]) => name)];
    expect((await namesIn(folder)).toSorted()).toEqual(names);
    expect(await openExport(deps, job)).toEqual(sum);
  });

  test("are completed when an attempt has ended behind the manifest", async () => {
    const listed = await runs();
    const contentOf = async (name: string) => (await folder.read(name)) ?? expect.fail();
    const first = await contentOf(listed.first);
    await finishExport(deps, job, sum, listed);
    await folder.write(listed.first, first);
    await finishExport(deps, job, sum, listed);
    expect(await namesIn(folder)).not.toContain(listed.first);
    const another = finishExport(deps, job, { ...sum, entries: 6 }, listed);
    await expect(another).rejects.toMatchObject(final);
  });

  test.each(["", '{"files":[]}', undefined])("are none with %j as a list", async (content) => {
    const listed = await runs();
    const { first } = listed;
    await (content === undefined ? folder.remove(first) : write(first, content));
    await expect(finishExport(deps, job, sum, listed)).rejects.toMatchObject(final);
    expect(await namesIn(folder)).toContain(".1-3.unfinished");
    expect(await openExport(deps, job)).toBeUndefined();
    expect(await namesIn(folder)).toEqual([]);
  });
});
