/** Tests what a folder and a prefix of a bucket have in common as object stores. */
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createObjectStore } from "../../../src/platform/objects/create-store.ts";
import type { ObjectStore } from "../../../src/platform/objects/object-store.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { type S3Server, startS3Server } from "../../support/servers/s3-server.ts";

const named = { name: "place", programs: ["shop"] };

let root: string;
let s3: S3Server;
let stores: Record<"folder" | "s3", ObjectStore>;
beforeEach(async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  root = await mkdtemp(join(tmpdir(), "meguri-objects-"));
  s3 = await startS3Server("bucket", 2);
  const bucket = { bucket: "bucket", prefix: "in/", region: "local", endpoint: s3.endpoint };
  stores = {
    folder: createObjectStore({ ...named, type: "folder", path: root }, "source"),
    s3: createObjectStore({ ...named, type: "s3", ...bucket, force_path_style: true }, "source"),
  };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await s3.stop();
  await rm(root, { recursive: true });
});

describe.each(["folder", "s3"] as const)("%s", (type) => {
  const put = async (path: string, content: string) => {
    await stores[type].put(path, { bytes: Buffer.from(content), type: "text/plain" });
    // A file that has just been written has no version yet.
    if (type === "folder") await utimes(join(root, path), 0, 0);
  };
  const contentOf = async (path: string, version?: string) => {
    const opened = await stores[type].open(path, version);
    return opened && text(opened);
  };
  const list = (folder: string, isWanted = (_: string) => true) =>
    allItems(({ cursor }) => stores[type].list(folder, isWanted, { size: 2, cursor }));
  const namesIn = async (folder: string) => (await list(folder)).map(({ name }) => name);

  test("keeps objects by their paths, and none of a path that leads elsewhere", async () => {
    await put("a/b/c.txt", "one");
    await put("a/b/c.txt", "two");
    expect(await contentOf("a/b/c.txt")).toBe("two");
    expect(Buffer.from((await stores[type].read("a/b/c.txt")) ?? "").toString()).toBe("two");
    for (const path of ["a/b", "a/c.txt", "", "a/../a/b/c.txt", "a//b/c.txt", "/a/b/c.txt"]) {
      expect(await contentOf(path)).toBeUndefined();
    }
    await stores[type].remove("a/b/c.txt");
    await stores[type].remove("a/b/c.txt");
    expect(await stores[type].read("a/b/c.txt")).toBeUndefined();
  });

  test("lists the wanted objects directly in a folder, over all pages", async () => {
    for (const name of ["e", "d", "c", "b", "a"]) await put(`f/${name}`, name.repeat(3));
    for (const path of ["x", "f/g/y", "ff/z"]) await put(path, "x");
    expect(await namesIn("f")).toEqual(["a", "b", "c", "d", "e"]);
    expect(await namesIn("")).toEqual(["x"]);
    expect(await namesIn("none")).toEqual([]);
    const wanted = await list("f", (name) => name > "c");
    expect(wanted.map(({ name, size }) => [name, size])).toEqual([
      ["d", 3],
      ["e", 3],
    ]);
  });

  test("opens and moves an object only in the version that was listed", async () => {
    await put("x", "one");
    const [listed] = await list("");
    const version = await listed?.version();
    expect(version).toMatch(/^[0-9a-f]{12}$/);
    expect(await contentOf("x", version)).toBe("one");
    await put("x", "two");
    await expect(contentOf("x", version)).rejects.toThrow('"x" has changed since it was listed');
    const { moveToFree } = stores[type];
    expect(await moveToFree({ path: "x", version }, "done", ["x"])).toBeUndefined();
    expect(await contentOf("x")).toBe("two");
  });

  test("moves an object to the first free name, or over another one", async () => {
    const { moveToFree, rename } = stores[type];
    for (const content of ["one", "two"]) {
      await put("x", content);
      const moved = await moveToFree({ path: "x" }, "done", ["x", "x-2"]);
      expect(await contentOf(moved ?? "")).toBe(content);
    }
    expect(await namesIn("done")).toEqual(["x", "x-2"]);
    expect(await moveToFree({ path: "x" }, "done", ["x", "x-3"])).toBeUndefined();
    expect(await rename("done/x-2", "done/x")).toBe(true);
    expect(await rename("done/x-2", "done/x")).toBe(false);
    expect([await namesIn("done"), await contentOf("done/x")]).toEqual([["x"], "two"]);
  });
});
