/** Tests what an export does with files that are not as it has left them, on files in memory. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import type { ExportFolder, ExportManifest } from "../../../src/points/ports/exports.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { finishExport, keepPart, openExport } from "../../../src/points/use-cases/export-files.ts";
import { exportPorts, namesIn } from "../../support/servers/export-ports.ts";

const request = {
  ...{ programId: "shop", exportId: "2026-11", destination: "audit" },
  window: { start: 1_000, end: 9_000 },
};
const part = "part-0-000001.jsonl.gz";
const manifest: ExportManifest = {
  ...{ programId: "shop", exportId: "2026-11", window: request.window, entries: 1 },
  parts: [{ name: part, entries: 1, bytes: 5, sha256: "0".repeat(64) }],
  ...{ unreadable: 0, unreadables: [] },
};
const final = { reason: "WRONG_STATE", retryable: false };

const clock = { now: async () => ({ calendar: 9_000 + lateEntriesMs }) } as Deps["clock"];
let deps: ReturnType<typeof exportPorts> & Pick<Deps, "clock">;
let folder: ExportFolder;
beforeEach(() => {
  deps = { ...exportPorts(), clock };
  folder = deps.exportDestinations.folder("audit", request);
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
  const refusal = await openExport(deps, request).catch((error) => error);
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
    await expect(openExport(deps, request)).rejects.toMatchObject(final);
  },
);

test.each([
  { start: 1_000, end: 9_001 },
  { start: 1_000, end: 1_000 },
  { start: -1, end: 9_000 },
  { start: undefined, end: 8_999.5 },
])("a run that was started by hand with %o is refused", async (window) => {
  await write(part, "lines");
  const opening = openExport(deps, { ...request, window });
  await expect(opening).rejects.toMatchObject({ reason: "INVALID_REQUEST", retryable: false });
  expect(await namesIn(folder)).toEqual([part]);
});

describe("a complete export", () => {
  beforeEach(async () => {
    await writeManifest();
    await write(part, "lines");
  });

  test("stays as it is", async () => {
    expect(await openExport(deps, request)).toEqual(manifest);
    expect(await namesIn(folder)).toEqual(["manifest.json", part]);
  });

  test.each(["line", "lines and more", undefined])("is none with %j as a part", async (content) => {
    await (content === undefined ? folder.remove(part) : write(part, content));
    const opening = openExport(deps, request);
    await expect(opening).rejects.toMatchObject({
      ...final,
      message: expect.stringContaining("delete manifest.json"),
    });
  });

  test("keeps its parts when a run is reset, or started twice", async () => {
    const unfinished = ".0b2f1c9e-6b4e-4f0a-9f53-0c8f2f7f3f10.unfinished";
    await write(unfinished, "other lines");
    await expect(keepPart(deps, request, unfinished, part)).rejects.toMatchObject(final);
    expect(Buffer.from((await folder.read(part)) ?? "").toString()).toBe("lines");
  });
});

test("an export with a part of another size gets no manifest", async () => {
  await write(part, "line");
  await expect(finishExport(deps, "audit", manifest)).rejects.toMatchObject(final);
  expect(await namesIn(folder)).toEqual([part]);
  await write(part, "lines");
  for (const _ of [1, 2]) await finishExport(deps, "audit", manifest);
  expect(await openExport(deps, request)).toEqual(manifest);
});
