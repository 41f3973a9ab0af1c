/**
 * Tests that a commit is found in whole clones and fetched into shallow ones, and that what killed
 * runs have left is removed.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { fetchCommit, removeLeftovers } from "./versions.ts";

let folder: string;
let first: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-clones-"));
  const origin = join(folder, "origin");
  await git("init", "--quiet", origin);
  for (const text of ["first", "second"]) {
    await writeFile(join(origin, "file"), text);
    await git("-C", origin, "add", "file");
    const author = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    await git("-C", origin, ...author, "commit", "--quiet", "-m", text);
  }
  first = (await git("-C", origin, "rev-parse", "HEAD^")).trim();
});
afterAll(() => rm(folder, { recursive: true }));

const git = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)("git", args)).stdout;

/** Clones the origin, which is away afterwards unless it `stays`. */
async function clone(name: string, options: readonly string[], stays = true): Promise<string> {
  const place = join(folder, name);
  await git("clone", "--quiet", ...options, `file://${join(folder, "origin")}`, place);
  if (!stays) await git("-C", place, "remote", "set-url", "origin", join(folder, "nowhere"));
  return place;
}

const textOf = (place: string) => git("-C", place, "show", `${first}:file`);

test("a shallow clone fetches the commit", async () => {
  const place = await clone("shallow", ["--depth=1"]);
  await expect(textOf(place)).rejects.toThrow();
  await fetchCommit(place, first);
  expect(await textOf(place)).toBe("first");
});

test("a clone with the history needs no origin", async () => {
  const place = await clone("whole", [], false);
  await fetchCommit(place, first);
  expect(await textOf(place)).toBe("first");
});

test("a shallow clone without an origin says what it needs", async () => {
  const place = await clone("alone", ["--depth=1"], false);
  await expect(fetchCommit(place, first)).rejects.toThrow(
    new RegExp(
      `starts at commit ${first}, which this clone does not have.*git fetch --unshallow`,
      "s",
    ),
  );
});

test("an origin that does not answer is not waited for", async () => {
  const silent = createServer((socket) => {
    socket.on("error", () => {});
  });
  silent.listen(0, "127.0.0.1");
  onTestFinished(() => {
    silent.close();
  });
  await once(silent, "listening");
  const place = await clone("silent", ["--depth=1"]);
  const url = `git://127.0.0.1:${(silent.address() as AddressInfo).port}/origin`;
  await git("-C", place, "remote", "set-url", "origin", url);
  await expect(fetchCommit(place, first, 2_000)).rejects.toThrow("(no answer within 2 s)");
});

test("what killed runs have left is removed after a day, and nothing else", async () => {
  const place = join(folder, "temporary");
  const now = Date.now() / 1_000;
  const hours = { "meguri-previous-old": 25, "meguri-previous-new": 23, "meguri-clones-old": 25 };
  for (const [name, age] of Object.entries(hours)) {
    await mkdir(join(place, name, "src"), { recursive: true });
    await utimes(join(place, name), now, now - age * 3_600);
  }
  await removeLeftovers(place);
  expect((await readdir(place)).sort()).toEqual(["meguri-clones-old", "meguri-previous-new"]);
});
