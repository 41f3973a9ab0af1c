/** Tests the file that defines the sources, and that its errors name what is wrong. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pickUpsOf, readSourceDefinitions } from "../../../src/bulk-grants/sources/definitions.ts";
import { codeNamed } from "../../support/markdown.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "meguri-sources-"));
  path = join(folder, "sources.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (content: unknown) => {
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return readSourceDefinitions(path);
};

const pickUp = { program_id: "default", cron: "0 6 * * *", time_zone: "Asia/Tokyo" };
const byContent = { ...pickUp, ids: "content" };
const nightly = {
  name: "nightly",
  identity: "nightly-batch",
  programs: ["default"],
  type: "folder",
  path: "/data/nightly",
  pick_up: pickUp,
};
const jobs = {
  name: "jobs",
  identity: "jobs",
  programs: ["default", "cafe"],
  type: "s3",
  bucket: "campaigns",
  prefix: "in/",
  region: "ap-northeast-1",
};
const drive = {
  name: "drive",
  identity: "campaigns",
  programs: ["default"],
  type: "drive",
  folder_id: "1aBc",
  key_file: "/run/secrets/google.json",
};

describe("the file of the sources", () => {
  test("is not needed", () => {
    expect(readSourceDefinitions(undefined)).toEqual([]);
  });

  test("defines folders and S3 prefixes", () => {
    const minio = { ...jobs, name: "minio", endpoint: "http://minio:9000", force_path_style: true };
    const sources = [nightly, jobs, minio];
    expect(read({ sources })).toEqual(sources);
  });

  test("defines Drive folders", () => {
    const sources = [{ ...drive, pick_up: byContent }];
    expect(read({ sources })).toEqual(sources);
  });

  test("says which sources are picked up, in which program and when", () => {
    expect(pickUpsOf(read({ sources: [jobs, nightly] }))).toEqual([
      { name: "nightly", programId: "default", cron: "0 6 * * *", timeZone: "Asia/Tokyo" },
    ]);
  });

  test("is as the documentation shows it", () => {
    const [shown] = read(codeNamed("docs/run/sources.md", "sources"));
    expect(shown).toEqual(nightly);
  });

  test.each([
    ["name", { ...nightly, name: "Nightly" }],
    ["name", { ...nightly, name: "a/b" }],
    ["is the source of rows", { ...nightly, name: "temporal" }],
    ["identity", { ...nightly, identity: "" }],
    ["identity", { ...nightly, identity: "a#b" }],
    ["programs", { ...nightly, programs: [] }],
    ["programs", { ...nightly, programs: undefined }],
    ["programs", { ...nightly, programs: ["Default"] }],
    [
      "cafe is none of the programs of nightly",
      { ...nightly, pick_up: { ...pickUp, program_id: "cafe" } },
    ],
    ["path", { ...nightly, path: "data" }],
    ["pth", { ...nightly, pth: "/data" }],
    ["type", { ...nightly, type: "ftp" }],
    ["A spreadsheet of Google Sheets is read where it is in a folder", { ...drive, type: "sheet" }],
    ["pick_up.program_id", { ...nightly, pick_up: { ...pickUp, program_id: "Default" } }],
    ["pick_up.cron", { ...nightly, pick_up: { ...pickUp, cron: "6 o'clock" } }],
    ["pick_up.time_zone", { ...nightly, pick_up: { ...pickUp, time_zone: "JST" } }],
    ["pick_up.time_zone", { ...nightly, pick_up: { ...pickUp, time_zone: "asia/tokyo" } }],
    ["bucket", { ...jobs, bucket: "" }],
    ["prefix", { ...jobs, prefix: "in" }],
    ["prefix", { ...jobs, prefix: "/in/" }],
    ["endpoint", { ...jobs, endpoint: "minio:9000" }],
  ])("with a wrong %s is refused with the file and the field", (field, source) => {
    expect(() => read({ sources: [jobs, source] })).toThrow(path);
    expect(() => read({ sources: [jobs, source] })).toThrow(field);
  });

  test("that names two sources alike is refused", () => {
    expect(() => read({ sources: [jobs, nightly, { ...nightly, name: "jobs" }] })).toThrow(
      /another source is named jobs[\s\S]*sources\[2\]\.name/,
    );
  });

  test("that is no JSON, or is missing, is refused with its path", () => {
    expect(() => read("{")).toThrow(path);
    rmSync(path);
    expect(() => readSourceDefinitions(path)).toThrow(path);
  });
});

test("the page about Google shows valid definitions", () => {
  const { sources } = JSON.parse(codeNamed("docs/grant/google-sources.md", "definitions"));
  expect(read({ sources })).toEqual(sources);
});

test.each([
  { folder_id: "" },
  { folder_id: "a/b" },
  { folder_id: "https://drive.google.com/drive/folders/1qG5nN0wYlJx3bT7cVhZ2sRdKuE9mPfAa" },
  { key_file: "" },
  { endpoint: "ftp://localhost/" },
  { quiet_minutes: 0 },
  { quiet_minutes: 2.5 },
])("a Drive folder with %j is invalid", (changes) => {
  const named = { name: "x", identity: "x", programs: ["default"] };
  const valid = { ...named, type: "drive", folder_id: "1", key_file: "/key.json" };
  expect(read({ sources: [valid] })).toEqual([valid]);
  expect(() => read({ sources: [{ ...valid, ...changes }] })).toThrow();
});
