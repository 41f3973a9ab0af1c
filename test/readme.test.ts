import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../src/config.ts";
import { startServer, type TestServer } from "./support/servers/server.ts";

const run = promisify(execFile);
const root = new URL("..", import.meta.url).pathname;
const readme = readFileSync(`${root}README.md`, "utf8");

/** The code behind `<!-- test: name -->`, for the server of this test. */
function code(name: string): string {
  const found = new RegExp(`<!-- test: ${name} -->\\s+\`\`\`\\w+\\n(.*?)\`\`\``, "s").exec(readme);
  if (!found?.[1]) throw new Error(`the README has no code named ${name}`);
  return found[1].replaceAll("127.0.0.1:8080", `127.0.0.1:${server.port}`);
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test("the README's first calls work, one after the other", async () => {
  // What the README says of buf: the imported protos are fetched once.
  await run("node", ["src/dev/generate.ts", "--fetch"], { cwd: root });
  const granted = JSON.parse((await run("sh", ["-c", code("curl")], { cwd: root })).stdout);
  expect(granted).toMatchObject({ entry: { number: "1", points: "120" }, balance: "120" });

  const file = `.readme-${process.pid}.ts`;
  await writeFile(root + file, code("client"));
  try {
    const { stdout } = await run("node", [file], { cwd: root });
    expect(stdout.trim()).toBe("80 used, 40 left, replayed: false");
  } finally {
    await rm(root + file);
  }
});

test("the README's table has every variable with its default", () => {
  const source = readFileSync(`${root}src/config.ts`, "utf8");
  const variables = new Set(source.match(/\b(MEGURI_[A-Z0-9_]+|AWS_REGION)\b/g));
  const rows = new Map(
    [...readme.matchAll(/^\| `((?:MEGURI|AWS)_\w+)` \| (?:`(.+?)`|–) \|/gm)].map((row) => [
      row[1] as string,
      row[2],
    ]),
  );
  expect(new Set(rows.keys())).toEqual(variables);
  const given = Object.fromEntries([...rows].filter(([, value]) => value !== undefined));
  expect(readConfig(given)).toEqual(readConfig({}));
});
