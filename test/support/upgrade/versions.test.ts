/** Tests that a commit is found in whole clones and fetched into shallow ones. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchCommit } from "./versions.ts";

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
