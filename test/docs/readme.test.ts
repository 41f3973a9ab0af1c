/** Runs the code of the README, and compares the table of variables with the configuration. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaults } from "../../src/config/config.ts";
import { codeNamed, fetchProtos, onPorts, projectRoot as root } from "../support/markdown.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

const run = promisify(execFile);

const code = (name: string) => onPorts(codeNamed("README.md", name), server);

const sh = async (name: string) =>
  JSON.parse((await run("sh", ["-c", code(name)], { cwd: root })).stdout);

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

test("the README's first calls work, one after the other", async () => {
  const granted = {
    entry: { number: "1", points: "120", caller: { service: "shop", subject: "shop" } },
    availablePoints: "120",
  };
  const first = await sh("curl");
  expect(first).toMatchObject(granted);
  expect(first.replayed).toBeUndefined();

  await fetchProtos();
  expect(await sh("buf")).toMatchObject({ ...granted, replayed: true });

  const file = `.readme-${process.pid}.ts`;
  await writeFile(root + file, code("client"));
  try {
    const { stdout } = await run("node", [file], { cwd: root });
    expect(stdout.trim()).toBe("80 used, 40 left, replayed: false");
  } finally {
    await rm(root + file);
  }
});

test("the table of variables has every variable with its default", () => {
  const operations = readFileSync(`${root}docs/operations.md`, "utf8");
  const rows = new Map(
    [...operations.matchAll(/^\| `((?:MEGURI|AWS|OTEL|NODE)_\w+)` \| (?:`(.+?)`|–) \|/gm)].map(
      (row) => [row[1] as string, row[2]],
    ),
  );
  // Its default is the version of the package, which changes.
  expect(rows).toEqual(new Map(defaults).set("MEGURI_BUILD_ID", undefined));
});
