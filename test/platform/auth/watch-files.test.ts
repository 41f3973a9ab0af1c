/** Tests that files are read again when they change, and that bad ones change nothing. */
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Watched, watchFiles } from "../../../src/platform/auth/watch-files.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { eventually } from "../../support/fixtures/waiting.ts";

const log = createLogger("test", "silent");
let folder: string;
let watched: Watched<string> | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-watch-"));
});

afterEach(() => watched?.close());

afterAll(() => rm(folder, { recursive: true }));

/** Joins the files; "bad" is refused. */
function watch(...files: string[]): Watched<string> {
  const parse = (contents: readonly string[]) => {
    if (contents.includes("bad")) throw new Error("it is bad");
    return contents.join("+");
  };
  watched = watchFiles(files, parse, log);
  return watched;
}

/** Replaces a file at one moment, so that no half of it is read. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.next`, content);
  await rename(`${file}.next`, file);
}

test("reads files again when they change, after bad contents and a missing file, too", async () => {
  const [a, b] = [join(folder, "a"), join(folder, "b")];
  await Promise.all([writeFile(a, "1"), writeFile(b, "2")]);
  const { current, onChange } = watch(a, b);
  const problems = vi.spyOn(log, "error");
  const values: string[] = [];
  onChange((value) => values.push(value));
  expect(current()).toBe("1+2");
  await replace(a, "3");
  await eventually(async () => expect(current()).toBe("3+2"));
  await replace(a, "bad");
  await eventually(async () => expect(problems).toHaveBeenCalledTimes(1));
  await rm(b);
  await eventually(async () => expect(problems).toHaveBeenCalledTimes(2));
  expect(current()).toBe("3+2");
  await replace(a, "4");
  await replace(b, "5");
  await eventually(async () => expect(current()).toBe("4+5"));
  expect(values).toEqual(["3+2", "4+5"]);
});

test("says how long ago the files were good", async () => {
  const file = join(folder, "aged");
  await writeFile(file, "1");
  const { ageMs, current } = watch(file);
  const begun = performance.now();
  await eventually(async () => {
    expect(performance.now() - begun).toBeGreaterThan(1_500);
    expect(ageMs()).toBeLessThan(1_000);
  });
  const problems = vi.spyOn(log, "error").mockClear();
  await replace(file, "bad");
  await eventually(async () => expect(problems).toHaveBeenCalled());
  await eventually(async () => expect(ageMs()).toBeGreaterThan(2_500));
  // The contents of before are good again, and no change of the value.
  await replace(file, "1");
  await eventually(async () => expect(ageMs()).toBeLessThan(1_000));
  expect(current()).toBe("1");
});

test("follows a symbolic link that is swapped", async () => {
  const [one, two] = [join(folder, "one"), join(folder, "two")];
  await Promise.all([writeFile(one, "1"), writeFile(two, "2")]);
  const [link, next] = [join(folder, "link"), join(folder, "next")];
  await symlink(one, link);
  const { current } = watch(link);
  await symlink(two, next);
  await rename(next, link);
  await eventually(async () => expect(current()).toBe("2"));
});

test("throws at first if a file is missing or bad", async () => {
  const bad = join(folder, "first");
  await writeFile(bad, "bad");
  expect(() => watch(bad)).toThrow("it is bad");
  expect(() => watch(join(folder, "none"))).toThrow("ENOENT");
});
