/** Tests a local folder as a source: what it reads, lists and moves, and what it refuses. */
import { createHash } from "node:crypto";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createBulkSources } from "../../../src/adapters/sources/bulk-sources.ts";
import { createFolderSource } from "../../../src/adapters/sources/folder.ts";
import { createDriveSource } from "../../../src/adapters/sources/google/drive.ts";
import { createSheetSource } from "../../../src/adapters/sources/google/sheet.ts";
import { createS3Source } from "../../../src/adapters/sources/s3.ts";

const adapters = {
  folder: createFolderSource,
  s3: createS3Source,
  drive: createDriveSource,
  sheet: createSheetSource,
};
const csv = "user_id,points,reason\nu-1,5,x\n";
const version = createHash("sha256").update(csv).digest("hex").slice(0, 12);

let outside: string;
let root: string;
beforeEach(async () => {
  outside = await mkdtemp(join(tmpdir(), "meguri-folder-"));
  root = join(outside, "nightly");
  await mkdir(root);
});
afterEach(() => rm(outside, { recursive: true }));

const pickUp = {
  program_id: "cafe",
  cron: "0 6 * * *",
  time_zone: "Asia/Tokyo",
};
const definition = () => ({
  name: "nightly",
  identity: "nightly-batch",
  type: "folder" as const,
  path: root,
  pick_up: pickUp,
});
const sources = () => createBulkSources([definition()], adapters);

/** Writes a file as if a minute ago. */
async function write(path: string, content = csv): Promise<void> {
  await writeFile(join(root, path), content);
  const minuteAgo = Date.now() / 1_000 - 60;
  await utimes(join(root, path), minuteAgo, minuteAgo);
}

const newFiles = async () => (await sources().listNew("nightly")).items;

const listed = async () => (await newFiles()).map(({ source }) => source.replace(/#.*/, ""));

const onlyNew = async (): Promise<string> => {
  const files = await newFiles();
  expect(files).toHaveLength(1);
  return files[0]?.source ?? "";
};

describe("a file", () => {
  test("is read under the identity of its source", async () => {
    await mkdir(join(root, "2026"));
    await write("2026/rows #1.csv");
    const opened = await sources().open("nightly/2026/rows #1.csv");
    expect(opened.identity).toBe("nightly-batch");
    expect(await text(opened.csv)).toBe(csv);
    expect(sources().urlOf("nightly/2026/rows #1.csv")).toBeUndefined();
  });

  test.each([
    "nightly/missing.csv",
    "nightly/missing/rows.csv",
    "nightly/rows.csv/rows.csv",
    "nightly/../secret.csv",
    "nightly/sub/../../secret.csv",
    "nightly//etc/passwd",
    "nightly/./rows.csv",
    "nightly/link.csv",
    "nightly/linked/secret.csv",
    "nightly/loop.csv",
    "nightly/sub",
    "nightly/",
    "nightly",
    "nightly/rows.csv\0",
    `nightly/${"x".repeat(300)}.csv`,
    "hourly/rows.csv",
    "__proto__/rows.csv",
    "",
  ])("%j is refused", async (source) => {
    await mkdir(join(root, "sub"));
    await write("rows.csv");
    await writeFile(join(outside, "secret.csv"), csv);
    await symlink(join(outside, "secret.csv"), join(root, "link.csv"));
    await symlink(outside, join(root, "linked"));
    await symlink("loop.csv", join(root, "loop.csv"));
    await expect(sources().open(source)).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  });

  test("outside a folder with a similar name is refused", async () => {
    await mkdir(`${root}-2`);
    await writeFile(join(`${root}-2`, "rows.csv"), csv);
    await symlink(join(`${root}-2`, "rows.csv"), join(root, "rows.csv"));
    await expect(sources().open("nightly/rows.csv")).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });

  test("behind a link within the folder is read", async () => {
    await write("rows.csv");
    await symlink("rows.csv", join(root, "latest.csv"));
    expect(await text((await sources().open("nightly/latest.csv")).csv)).toBe(csv);
  });

  test("in a folder that does not exist is no refusal, so that it is tried again", async () => {
    await rm(root, { recursive: true });
    for (const call of [sources().open("nightly/rows.csv"), sources().listNew("nightly")]) {
      await expect(call).rejects.toMatchObject({ code: "ENOENT" });
    }
  });
});

describe("a pick-up", () => {
  test("is configured with its program, its times and its time zone", () => {
    expect(sources().pickUps).toEqual([
      { name: "nightly", programId: "cafe", cron: "0 6 * * *", timeZone: "Asia/Tokyo" },
    ]);
  });

  test("lists the CSV files directly in the folder, by name", async () => {
    for (const name of ["b.csv", "a.CSV", ".hidden.csv", "c.csv.part", "d.tmp"]) await write(name);
    for (const folder of ["done", "failed", "e.csv"]) await mkdir(join(root, folder));
    await write("done/x.csv");
    await symlink("b.csv", join(root, "link.csv"));
    expect(await listed()).toEqual(["nightly/a.CSV", "nightly/b.csv"]);
  });

  test("leaves a file that has just been changed to the next one", async () => {
    await write("complete.csv");
    await writeFile(join(root, "growing.csv"), csv);
    expect(await listed()).toEqual(["nightly/complete.csv"]);
  });

  test("lists 100 files at a time, and then those behind them", async () => {
    const names = Array.from({ length: 203 }, (_, i) => `${1_000 + i}.csv`);
    for (const name of names) await write(name);
    // Those of the second page are still being written.
    for (const name of names.slice(100, 200)) await writeFile(join(root, name), csv);
    const first = await sources().listNew("nightly");
    const second = await sources().listNew("nightly", first.cursor);
    const namesOf = ({ items }: typeof first) =>
      items.map(({ source }) => source.replace(/^nightly.|#.*/g, ""));
    expect(namesOf(first)).toEqual(names.slice(0, 100));
    expect(namesOf(second)).toEqual(names.slice(200));
    expect(second.cursor).toBeUndefined();
  });

  test("names a bulk grant after the file, whatever its content is", async () => {
    const listed = async (content?: string) => {
      await write("rows-1.csv", content);
      return (await newFiles())[0];
    };
    const source = `nightly/rows-1.csv#${version}`;
    expect(await listed()).toEqual({ source, bulkGrantId: "rows-1" });
    const other = await listed(`${csv}u-2,5,x\n`);
    expect(other?.bulkGrantId).toBe("rows-1");
    expect(other?.source).not.toBe(source);
  });

  test("names a bulk grant after the file and its content, where the source says so", async () => {
    await write("rows-1.csv");
    const nightly = { ...definition(), pick_up: { ...pickUp, ids: "content" as const } };
    const { items } = await createBulkSources([nightly], adapters).listNew("nightly");
    expect(items[0]?.bulkGrantId).toBe(`rows-1-${version}`);
  });

  test("makes valid ids of all names, and other ids of other names", async () => {
    const long = "x".repeat(64);
    const names = ["朝.csv", "夜.csv", "春 2026 #1.csv", `${long}1.csv`, `${long}2.csv`];
    for (const name of names) await write(name);
    const ids = (await newFiles()).map(({ bulkGrantId }) => bulkGrantId);
    expect(new Set(ids).size).toBe(names.length);
    for (const id of ids) expect(id).toMatch(/^(sheet|2026-1|x{51})-[0-9a-f]{12}$/);
    await write(`${long}.csv`);
    expect((await newFiles()).map(({ bulkGrantId }) => bulkGrantId)).toContain(long);
  });

  test("reads and moves the content that was listed, and no later one", async () => {
    await write("rows.csv");
    const source = await onlyNew();
    expect(await text((await sources().open(source)).csv)).toBe(csv);
    await write("rows.csv", "later");
    const { csv: later } = await sources().open(source);
    await expect(text(later)).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
    await sources().move(source, "done");
    expect(await readdir(root)).toEqual(["rows.csv"]);

    await sources().move(await onlyNew(), "failed");
    expect(await readdir(root)).toEqual(["failed"]);
    expect(await readFile(join(root, "failed/rows.csv"), "utf8")).toBe("later");
  });

  test("moves one file once, although many pick-ups do it at the same time", async () => {
    await write("rows.csv");
    const source = await onlyNew();
    await Promise.all(Array.from({ length: 10 }, () => sources().move(source, "done")));
    await sources().move(source, "done");
    expect(await readdir(root)).toEqual(["done"]);
    expect(await readdir(join(root, "done"))).toEqual(["rows.csv"]);
    expect(await readFile(join(root, "done/rows.csv"), "utf8")).toBe(csv);
  });

  test("keeps the files that were moved before under the same name", async () => {
    for (const content of ["first", "second", "third"]) {
      await write("rows.csv", content);
      await sources().move(await onlyNew(), "done");
    }
    const names = ["rows.csv", "rows-2.csv", "rows-3.csv"];
    const contents = names.map((name) => readFile(join(root, "done", name), "utf8"));
    expect(await Promise.all(contents)).toEqual(["first", "second", "third"]);
  });

  test("moves no file to where a link leads", async () => {
    await write("rows.csv");
    await symlink(outside, join(root, "done"));
    await expect(sources().move("nightly/rows.csv", "done")).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
      message: "the folder done of the source is a link",
    });
    expect(await readdir(root)).toEqual(["done", "rows.csv"]);
    expect(await readdir(outside)).toEqual(["nightly"]);
  });

  test("of a source that is not configured is refused", async () => {
    const refusal = { reason: "INVALID_REQUEST" };
    await expect(sources().listNew("hourly")).rejects.toMatchObject(refusal);
    await expect(sources().move("hourly/rows.csv", "done")).rejects.toMatchObject(refusal);
    expect(sources().urlOf("hourly/rows.csv")).toBeUndefined();
  });
});

test("a folder takes no failed rows back", async () => {
  await write("rows.csv");
  const of = { bulkGrantId: "spring", revision: 1 };
  const none = (async function* () {})();
  await sources().writeFailures("nightly/rows.csv", of, none);
  expect(await readdir(root)).toEqual(["rows.csv"]);
});
