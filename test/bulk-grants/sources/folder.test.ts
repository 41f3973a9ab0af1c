/** Tests a local folder as a source: what it reads, lists and moves, and what it refuses. */
import { createHash } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createBulkSources } from "../../../src/bulk-grants/sources/bulk-sources.ts";
import { errorsName } from "../../../src/bulk-grants/sources/files.ts";
import { createObjectSource } from "../../../src/bulk-grants/sources/objects.ts";
import { errorSheet } from "../../../src/bulk-grants/use-cases/write-sheet.ts";
import { sheetOfErrors } from "../../support/fixtures/sheets.ts";

const unused = () => {
  throw new Error("no source of this test");
};
const adapters = {
  folder: createObjectSource,
  s3: createObjectSource,
  drive: unused,
  sheet: unused,
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
  programs: ["cafe"],
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

/** Calls `use` as a user that may not read what only its owner may: everybody but root. */
async function withoutRoot<T>(use: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.("nobody");
  try {
    return await use();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
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
    const latin = { ...definition(), encoding: "windows-1252" as const };
    const named = await createBulkSources([latin], adapters).open(
      "nightly/2026/rows #1.csv",
      "cafe",
    );
    expect(named.encoding).toBe("windows-1252");
    expect(await text(named.csv)).toBe(csv);
    const opened = await sources().open("nightly/2026/rows #1.csv", "cafe");
    expect(opened.identity).toBe("nightly-batch");
    expect(await text(opened.csv)).toBe(csv);
    expect(opened.url).toBeUndefined();
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
    await expect(sources().open(source, "cafe")).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });

  test("outside a folder with a similar name is refused", async () => {
    await mkdir(`${root}-2`);
    await writeFile(join(`${root}-2`, "rows.csv"), csv);
    await symlink(join(`${root}-2`, "rows.csv"), join(root, "rows.csv"));
    await expect(sources().open("nightly/rows.csv", "cafe")).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });

  test("behind a link within the folder is read", async () => {
    await write("rows.csv");
    await symlink("rows.csv", join(root, "latest.csv"));
    expect(await text((await sources().open("nightly/latest.csv", "cafe")).csv)).toBe(csv);
  });

  test("for a program that its source does not name is refused first", async () => {
    const opened = sources().open("nightly/none.csv", "default");
    await expect(opened).rejects.toMatchObject({
      reason: "PERMISSION_DENIED",
      message: "the source nightly may not grant in the program default",
    });
  });

  test("in a folder that does not exist is no refusal, so that it is tried again", async () => {
    await rm(root, { recursive: true });
    for (const call of [sources().open("nightly/rows.csv", "cafe"), sources().listNew("nightly")]) {
      await expect(call).rejects.toMatchObject({ code: "ENOENT" });
    }
  });
});

describe("a pick-up", () => {
  test("lists the sheets directly in the folder, by name", async () => {
    const others = [".hidden.csv", ".xlsx", "c.csv.part", "d.tmp", "old.xls", "~$book.xlsx"];
    for (const name of ["b.csv", "a.CSV", "book.XLSX", ...others]) await write(name);
    for (const folder of ["done", "failed", "e.csv"]) await mkdir(join(root, folder));
    await write("done/x.csv");
    await symlink("b.csv", join(root, "link.csv"));
    expect(await listed()).toEqual(["nightly/a.CSV", "nightly/b.csv", "nightly/book.XLSX"]);
  });

  test("lists names with blanks, line breaks and leading hyphens", async () => {
    const names = ["-rf.csv", "a b.csv", "line\nbreak.csv"];
    for (const name of names) await write(name);
    expect(await listed()).toEqual(names.map((name) => `nightly/${name}`));
  });

  test("lists a file that may not be read, so that it alone is left", async () => {
    for (const name of ["a.csv", "b.csv"]) await write(name);
    for (const folder of [outside, root]) await chmod(folder, 0o755);
    await chmod(join(root, "a.csv"), 0);
    await withoutRoot(async () => {
      const [a, b] = (await newFiles()).map(({ source }) => source);
      const { csv: content } = await sources().open(a ?? "", "cafe");
      await expect(text(content)).rejects.toMatchObject({
        reason: "PERMISSION_DENIED",
        message: 'Meguri may not read the file "a.csv"',
      });
      expect(await text((await sources().open(b ?? "", "cafe")).csv)).toBe(csv);
    });
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
    expect(await listed()).toEqual({ source, bulkGrantId: "rows-1", title: "rows-1" });
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

  test("is called as its file, cut to 96 bytes of whole characters", async () => {
    const names = [
      "20221101_キャンペーン1.CSV",
      `${"点".repeat(40)}.csv`,
      "a\tb\u202e.csv",
      "\u200b.csv",
    ];
    for (const name of names) await write(name);
    expect((await newFiles()).map(({ title }) => title).toSorted()).toEqual([
      "20221101_キャンペーン1",
      "a b",
      "sheet",
      "点".repeat(32),
    ]);
  });

  test("makes valid ids of all names, and other ids of other names", async () => {
    const long = "x".repeat(128);
    const names = [
      "#.csv",
      "\t.csv",
      "\u200b.csv",
      "春 2026 #1.csv",
      `${long}1.csv`,
      `${long}2.csv`,
    ];
    for (const name of names) await write(name);
    const ids = (await newFiles()).map(({ bulkGrantId }) => bulkGrantId);
    expect(new Set(ids).size).toBe(names.length);
    for (const id of ids) expect(id).toMatch(/^(sheet|春 2026 -1|x{115})-[0-9a-f]{12}$/);
    for (const name of [long, "20221101_キャンペーン1", "が".normalize("NFD")])
      await write(`${name}.csv`);
    expect((await newFiles()).map(({ bulkGrantId }) => bulkGrantId)).toEqual(
      expect.arrayContaining([long, "20221101_キャンペーン1", "が"]),
    );
  });

  test("reads and moves the content that was listed, and no later one", async () => {
    await write("rows.csv");
    const source = await onlyNew();
    expect(await text((await sources().open(source, "cafe")).csv)).toBe(csv);
    await write("rows.csv", "later");
    const { csv: later } = await sources().open(source, "cafe");
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
    // Of two that overlap, one may take the next name.
    const [name = "", ...others] = await readdir(join(root, "done"));
    expect([name, others]).toEqual([expect.stringMatching(/^rows(-\d+)?\.csv$/), []]);
    expect(await readFile(join(root, "done", name), "utf8")).toBe(csv);
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

  test.each(["outside", "nightly/other", "missing", "nightly/failed"])(
    "moves and writes no file to %s, where a link leads",
    async (target) => {
      await write("rows.csv");
      for (const folder of ["outside", "nightly/other"]) await mkdir(join(outside, folder));
      for (const name of ["done", "failed"]) await symlink(join(outside, target), join(root, name));
      const refusal = (name: string) => ({
        reason: "INVALID_REQUEST",
        message: `the folder ${name} of the source is a link`,
      });
      const source = "nightly/rows.csv";
      for (const name of ["done", "failed"] as const) {
        await expect(sources().move(source, name)).rejects.toMatchObject(refusal(name));
      }
      const writing = sources().writeErrors({ source }, sheetOfErrors(["u-1"]));
      await expect(writing).rejects.toMatchObject(refusal("failed"));
      expect(await readdir(root)).toEqual(["done", "failed", "other", "rows.csv"]);
      expect(await readdir(outside)).toEqual(["nightly", "outside"]);
      for (const folder of ["outside", "nightly/other"]) {
        expect(await readdir(join(outside, folder))).toEqual([]);
      }
    },
  );

  test("moves no file to a file", async () => {
    await write("rows.csv");
    await write("done");
    await expect(sources().move("nightly/rows.csv", "done")).rejects.toMatchObject({
      message: "the folder done of the source is a file",
    });
    expect(await readFile(join(root, "done"), "utf8")).toBe(csv);
  });

  test.runIf(process.platform === "linux")(
    "writes to the folder that it has opened, when a link replaces that",
    async () => {
      await mkdir(join(root, "failed"));
      async function* rows() {
        await rename(join(root, "failed"), join(root, "before"));
        await symlink(outside, join(root, "failed"));
        yield ["user_id"];
      }
      const errors = errorSheet("failed", rows());
      await sources().writeErrors({ source: "nightly/rows.csv" }, errors);
      expect(await readdir(join(root, "before"))).toEqual(["rows.errors.csv"]);
      expect(await readdir(outside)).toEqual(["nightly"]);
    },
  );

  test("of a source that is not configured is refused", async () => {
    const refusal = { reason: "INVALID_REQUEST" };
    await expect(sources().listNew("hourly")).rejects.toMatchObject(refusal);
    await expect(sources().move("hourly/rows.csv", "done")).rejects.toMatchObject(refusal);
    const errors = sheetOfErrors([]);
    await expect(
      sources().writeErrors({ source: "hourly/rows.csv" }, errors),
    ).rejects.toMatchObject(refusal);
  });
});

describe("errors", () => {
  const writeErrors = (source: string, ...rows: string[]) =>
    sources().writeErrors({ source }, sheetOfErrors(rows));
  const failed = () => readdir(join(root, "failed"));

  test("are beside the file, and are no new file", async () => {
    await write("rows.csv");
    const source = await onlyNew();
    const place = { name: "nightly/failed/rows.errors.csv" };
    expect(await writeErrors(source, "u-1", "u-2")).toEqual(place);
    expect(await sources().move(source, "failed")).toEqual({ name: "nightly/failed/rows.csv" });
    expect(await failed()).toEqual(["rows.csv", "rows.errors.csv"]);
    const file = join(root, "failed/rows.errors.csv");
    expect(await readFile(file, "utf8")).toBe('\ufeff"user_id"\r\n"u-1"\r\n"u-2"\r\n');
    expect(await newFiles()).toEqual([]);
    await writeErrors("nightly/rows.csv#0123456789ab", "u-3");
    expect(await readFile(file, "utf8")).toBe('\ufeff"user_id"\r\n"u-3"\r\n');
  });

  test("have a name of their own for each file", async () => {
    const long = "春".repeat(80);
    const plain = ["rows.csv", "rows.errors.csv", "Rows.csv", "2026-rows.csv", `${long}.csv`];
    const inFolders = ["2026/rows.csv", "done/rows.csv", "failed/rows.csv", "failed-rows.csv"];
    const others = ["rows", "rows.CSV", "rows.errors.CSV", "rows.csv.csv", "rows.errors"];
    const paths = [...plain, ...inFolders, ...others];
    // What would be the name of another one's errors, if it had no hash of its own.
    paths.push(`${errorsName("2026/rows.csv").replace(/[.]errors[.]csv$/, "")}.csv`);
    const places = new Map<string, string>();
    for (const path of paths) {
      const { name } = await writeErrors(`nightly/${path}`, path);
      places.set(path, name.replace("nightly/", ""));
    }
    for (const [path, place] of places) {
      expect(await readFile(join(root, place), "utf8")).toContain(`"${path}"`);
    }
    expect(await failed()).toHaveLength(paths.length);
    expect(plain.map((path) => places.get(path))).toEqual(
      plain.map((path) => `failed/${path.replace(".csv", ".errors.csv")}`),
    );
    expect(places.get("2026/rows.csv")).toMatch(/^failed.2026-rows-[0-9a-f]{12}\.errors\.csv$/);
  });

  test("have another name for any other path", () => {
    const part = fc.constantFrom("a", "b", "/", "-", ".errors", ".csv", ".CSV", "done/", "failed/");
    const hash = fc.constantFrom(
      "",
      "-0123456789ab",
      "-3f2c1d0e9b8a",
      "é",
      "e\u0301",
      "春".repeat(90),
    );
    const path = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 5 }), hash, fc.constantFrom("", ".csv"))
      .map(([parts, middle, end]) => parts.join("") + middle + end);
    fc.assert(
      fc.property(fc.uniqueArray(path, { minLength: 2, maxLength: 30 }), (paths) => {
        // A name of errors may be that of a file that is dropped.
        const all = [...new Set([...paths, ...paths.map(errorsName)])];
        const names = all.map(errorsName);
        expect(new Set(names).size).toBe(all.length);
        for (const name of names) {
          expect(name).toMatch(/^[^/]+\.errors\.csv$|^\.errors\.csv$/);
          expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        }
      }),
      { seed: 41, numRuns: 300 },
    );
  });

  test("of the longest names have their beginning, and names of their own", async () => {
    const longest = ["1", "2"].map((end) => `${"春".repeat(83)}x${end}.csv`);
    const names = [];
    for (const name of longest) {
      for (const content of ["first", "second"]) {
        await write(name, content);
        const source = await onlyNew();
        names.push((await writeErrors(source)).name);
        await sources().move(source, "failed");
      }
    }
    expect(new Set(names).size).toBe(2);
    for (const name of names)
      expect(name).toMatch(/^nightly\/failed\/春+-[0-9a-f]{12}\.errors\.csv$/);
    expect(await failed()).toHaveLength(6);
  });

  test("that are dropped again leave their name to the next ones of the file", async () => {
    await write("rows.errors.csv", "corrected");
    const source = await onlyNew();
    expect(await sources().move(source, "failed")).toEqual({
      name: "nightly/failed/rows.errors-2.csv",
    });
    expect((await writeErrors(source, "u-1")).name).toBe("nightly/failed/rows.errors.errors.csv");
    expect((await writeErrors("nightly/rows.csv")).name).toBe("nightly/failed/rows.errors.csv");
    expect(await readFile(join(root, "failed/rows.errors-2.csv"), "utf8")).toBe("corrected");
  });

  test("that cannot be read to their end leave those before as they are", async () => {
    await writeErrors("nightly/rows.csv", "u-1");
    const broken = errorSheet(
      "failed",
      (async function* () {
        yield ["user_id"];
        throw new Error("the store is away");
      })(),
    );
    const writing = sources().writeErrors({ source: "nightly/rows.csv" }, broken);
    await expect(writing).rejects.toThrow("the store is away");
    expect(await failed()).toEqual(["rows.errors.csv"]);
    expect(await readFile(join(root, "failed/rows.errors.csv"), "utf8")).toContain("u-1");
  });

  test("replace a link of their name, and not what it leads to", async () => {
    await mkdir(join(root, "failed"));
    await writeFile(join(outside, "secret.csv"), "secret");
    await symlink(join(outside, "secret.csv"), join(root, "failed/rows.errors.csv"));
    await writeErrors("nightly/rows.csv", "u-1");
    expect(await readFile(join(outside, "secret.csv"), "utf8")).toBe("secret");
    expect(await readFile(join(root, "failed/rows.errors.csv"), "utf8")).toContain("u-1");
  });
});
