/** Tests destinations of exports: folders and S3 prefixes, and names that lead out of them. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createDestinations,
  type DestinationDefinition,
  readDestinations,
} from "../../../src/points/exports/destinations.ts";
import type { ExportFolder } from "../../../src/points/ports/exports.ts";
import { codeNamed } from "../../support/markdown.ts";
import { namesIn } from "../../support/servers/export-ports.ts";
import { type S3Server, startS3Server } from "../../support/servers/s3-server.ts";

let root: string;
let s3: S3Server;
beforeAll(async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "tests");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "tests");
});
afterAll(() => vi.unstubAllEnvs());
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "meguri-exports-"));
  await mkdir(join(root, "exports"));
  s3 = await startS3Server("audit", 2);
  return async () => {
    await rm(root, { recursive: true });
    await s3.stop();
  };
});

const definitions = (): DestinationDefinition[] => [
  { name: "disk", programs: ["shop"], type: "folder", path: join(root, "exports") },
  {
    ...{ name: "bucket", programs: ["shop"], type: "s3", bucket: "audit", prefix: "ledgers/" },
    ...{ region: "ap-northeast-1", endpoint: s3.endpoint, force_path_style: true },
  },
];
const destinations = () => createDestinations(definitions());
const name = { programId: "shop", exportId: "2026-11" };
const part = "part-0-000001.jsonl.gz";
const unfinished = ".0b2f1c9e-6b4e-4f0a-9f53-0c8f2f7f3f10.unfinished";
const list = `.${"0f".repeat(32)}.list`;
const bytes = (text: string) => Buffer.from(text);
const text = async (folder: ExportFolder, file: string) =>
  Buffer.from((await folder.read(file)) ?? "none").toString();

describe.each(["disk", "bucket"])("%s", (destination) => {
  test("has files whole, under the name of program and export", async () => {
    const folder = destinations().folder(destination, name);
    expect(await namesIn(folder)).toEqual([]);
    expect(await folder.read("manifest.json")).toBeUndefined();
    await folder.write("manifest.json", bytes("one"));
    await folder.write("manifest.json", bytes("two"));
    await folder.write(unfinished, bytes("lines"));
    await folder.write(list, bytes("names"));
    expect(await text(folder, list)).toBe("names");
    await folder.remove(list);
    expect(await text(folder, "manifest.json")).toBe("two");
    expect(await folder.rename(unfinished, part)).toBe(true);
    expect(await folder.rename(unfinished, part)).toBe(false);
    expect((await namesIn(folder)).toSorted()).toEqual(["manifest.json", part]);
    expect(await text(folder, part)).toBe("lines");
    const stored =
      destination === "disk"
        ? await readFile(join(root, "exports/shop/2026-11", part), "utf8")
        : s3.objects.get(`ledgers/shop/2026-11/${part}`)?.toString();
    expect(stored).toBe("lines");
    await folder.remove(part);
    await folder.remove(part);
    expect(await namesIn(folder)).toEqual(["manifest.json"]);
  });

  test("lists more files than a page has, and none of another export", async () => {
    const folder = destinations().folder(destination, name);
    const names = Array.from({ length: 7 }, (_, i) => `part-0-00000${i}.jsonl.gz`);
    for (const each of names) await folder.write(each, bytes("x"));
    const other = destinations().folder(destination, { ...name, exportId: "2026-1" });
    await other.write(part, bytes("x"));
    expect((await namesIn(folder)).toSorted()).toEqual(names);
  });

  test("refuses another program, and ids and names that lead elsewhere", async () => {
    const open = (more: object) => () => destinations().folder(destination, { ...name, ...more });
    expect(open({ programId: "other" })).toThrow(/is not for the program other/);
    expect(open({ programId: ".." })).toThrow(/not for the program/);
    for (const exportId of [
      "",
      ".",
      "..",
      "a/b",
      "../x",
      "a\\b",
      "A",
      "a\0",
      "/etc",
      "a".repeat(65),
    ]) {
      expect(open({ exportId })).toThrow(/not the id of an export/);
    }
    const folder = destinations().folder(destination, name);
    for (const file of ["", ".", "..", "../x", "a/b", "/etc/passwd", "x.txt", `${part}\n`]) {
      await expect(folder.write(file, bytes("x"))).rejects.toThrow(/not the name of a file/);
      await expect(folder.rename(part, file)).rejects.toThrow(/not the name of a file/);
      await expect(folder.remove(file)).rejects.toThrow(/not the name of a file/);
      await expect(folder.read(file)).rejects.toThrow(/not the name of a file/);
    }
    expect(() => destinations().folder("nowhere", name)).toThrow(/no destination "nowhere"/);
  });
});

test("files of somebody else in the folder are neither listed nor deleted", async () => {
  const folder = destinations().folder("disk", name);
  await folder.write(part, bytes("x"));
  await writeFile(join(root, "exports/shop/2026-11/README.txt"), "mine");
  expect(await namesIn(folder)).toEqual([part]);
  await expect(folder.remove("README.txt")).rejects.toThrow();
});

test.each(["shop", "shop/2026-11"])("a link at %s leads nowhere else", async (path) => {
  const outside = join(root, "outside");
  await mkdir(outside);
  if (path !== "shop") await mkdir(join(root, "exports/shop"));
  await symlink(outside, join(root, "exports", path));
  const folder = destinations().folder("disk", name);
  await expect(folder.write(part, bytes("x"))).rejects.toThrow(/of the destination is a link/);
  expect(await readdir(outside)).toEqual([]);
});

test("a file in place of the folder of a program is named", async () => {
  await writeFile(join(root, "exports/shop"), "a file");
  const folder = destinations().folder("disk", name);
  expect(await folder.read("manifest.json")).toBeUndefined();
  await expect(folder.write(part, bytes("x"))).rejects.toMatchObject({
    ...{ reason: "INVALID_REQUEST", retryable: false },
    message: "the folder shop of the destination is a file",
  });
});

test("a root that is itself a link is the operators' choice", async () => {
  await symlink(join(root, "exports"), join(root, "link"));
  const linked = { name: "disk", programs: ["shop"], type: "folder", path: join(root, "link") };
  const folder = createDestinations([linked as DestinationDefinition]).folder("disk", name);
  await folder.write(part, bytes("x"));
  expect(await readFile(join(root, "exports/shop/2026-11", part), "utf8")).toBe("x");
});

test("S3 is asked again when it is busy; a missing bucket is no missing file", async () => {
  const folder = destinations().folder("bucket", name);
  s3.failNext("SLOW_DOWN", "RESET");
  await folder.write(part, bytes("x"));
  expect(await text(folder, part)).toBe("x");
  const wrong = definitions().map((each) => ({ ...each, bucket: "nobody" }));
  const missing = createDestinations(wrong as DestinationDefinition[]).folder("bucket", name);
  await expect(missing.read("manifest.json")).rejects.toThrow(/failed: NoSuchBucket$/);
  await expect(missing.rename(unfinished, part)).rejects.toThrow(/failed: NoSuchBucket$/);
});

test("an operator reads the code of a failure, and no path; a log has the cause", async () => {
  const [disk, bucket] = ["disk", "bucket"].map((each) => destinations().folder(each, name));
  const failed = (destination: string, code: string) => ({
    ...{ reason: "DESTINATION_UNAVAILABLE", retryable: true, cause: expect.any(Error) },
    message: `the destination ${destination} failed: ${code}`,
  });
  await rm(join(root, "exports"), { recursive: true });
  const works = [
    () => disk?.read("manifest.json"),
    () => disk?.write(part, bytes("x")),
    () => disk?.sizes(),
    () => disk?.rename(unfinished, part),
  ];
  for (const work of works) {
    await expect(work()).rejects.toMatchObject(failed("disk", "ENOENT"));
  }
  s3.failNext("FORBIDDEN");
  await expect(bucket?.sizes()).rejects.toMatchObject(failed("bucket", "AccessDenied"));
  await s3.stop();
  await expect(bucket?.remove(part)).rejects.toMatchObject(failed("bucket", "ECONNREFUSED"));
});

test.each<[string, (path: string) => unknown]>([
  ["a link", (path) => symlink("/etc/passwd", path)],
  ["a folder", (path) => mkdir(path)],
  ["a pipe", (path) => promisify(execFile)("mkfifo", [path])],
])("%s in place of the manifest ends an export", async (_, make) => {
  const folder = destinations().folder("disk", name);
  await folder.write(part, bytes("x"));
  await make(join(root, "exports/shop/2026-11/manifest.json"));
  const reading = folder.read("manifest.json");
  await expect(reading).rejects.toMatchObject({ reason: "WRONG_STATE", retryable: false });
  expect((await folder.sizes()).get(part)).toBe(1);
});

test("the file of the definitions is checked, and every wrong field is named", async () => {
  const file = join(root, "destinations.json");
  const read = async (content: string) => {
    await writeFile(file, content);
    return () => readDestinations(file);
  };
  expect(readDestinations(undefined)).toEqual([]);
  expect((await read(JSON.stringify({ destinations: definitions() })))()).toEqual(definitions());
  expect((await read(codeNamed("docs/run/reports.md", "destinations")))()).toHaveLength(2);
  expect(
    (await read(JSON.stringify({ destinations: [], sources: ["another reader's"] })))(),
  ).toEqual([]);
  expect(await read(JSON.stringify({ sources: [] }))).toThrow(/destinations/);
  expect(await read(JSON.stringify({ destinations: [], destination: [] }))).toThrow(
    /"destination"/,
  );
  expect(await read("{")).toThrow(file);
  const [disk] = definitions();
  const wrong = { ...disk, path: "exports", programs: [], more: 1 };
  const message = await read(JSON.stringify({ destinations: [disk, wrong] }));
  expect(message).toThrow(/absolute/);
  expect(await read(JSON.stringify({ destinations: [disk, disk] }))).toThrow(
    /another destination is named disk/,
  );
  const upwards = { ...definitions()[1], prefix: "/x/" };
  expect(await read(JSON.stringify({ destinations: [upwards] }))).toThrow(/does not start with/);
});
