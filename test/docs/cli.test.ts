/** Runs docs/cli.md as a reader does, and compares its tables with the command. */
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import type { Command } from "@commander-js/extra-typings";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exitCodes, exitCodesHelp } from "../../packages/cli/src/exit-codes.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { codeBlocks, onPorts, projectRoot, type Shell, startShell } from "../support/markdown.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

const page = "docs/cli.md";
const document = readFileSync(`${projectRoot}${page}`, "utf8");

let server: MemoryServer;
let shell: Shell;
beforeAll(async () => {
  server = await startMemoryServer();
  shell = startShell();
  await shell.run(`meguri() { "${process.execPath}" packages/cli/src/meguri.js "$@"; }`);
});
afterAll(async () => {
  await shell?.close();
  await server?.stop();
});

test("the commands of the page do what it says", async () => {
  const blocks = codeBlocks(page).filter(({ name }) => name === "run");
  const printed: string[] = [];
  for (const { code } of blocks) printed.push(await shell.run(onPorts(code, server)));
  const [doctor = "", granted, others = "", submitted] = printed;
  expect(doctor).not.toContain("FAILED");
  expect(granted).toBe(codeBlocks(page).find(({ language }) => language === "text")?.code);
  const [reserved, entry = "", available] = others.trim().split("\n");
  expect(reserved).toMatch(/^PENDING: 50 points for alice at .* \(reservation xmas-alice\)$/);
  expect(JSON.parse(entry)).toMatchObject({
    event: { eventId: "order-17" },
    caller: { service: "mika" },
  });
  expect(available).toBe("120");
  expect(submitted).toBe("spring: VALIDATING, revision 1, 2 rows, 150 points\n");
});

test("the table of commands has every command with its summary", () => {
  const stream = new PassThrough();
  const io = { stdin: stream, stdout: stream, stderr: stream, env: {} };
  const { signal } = new AbortController();
  const program = createProgram({ ...io, signal }, () => async () => {});
  const visit = (command: Command, path: string): [string, string][] => {
    const children = command.createHelp().visibleCommands(command);
    const named = children.filter((child) => child.name() !== "help");
    if (named.length === 0) return [[path, command.summary()]];
    return named.flatMap((child) => visit(child as Command, `${path} ${child.name()}`));
  };
  const rows = [...document.matchAll(/^\| `(meguri [a-z -]+)` \| (.+) \|$/gm)];
  const named = rows.map(([, name = "", summary = ""]) => [name, summary]);
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(visit(program, "meguri")));
});

test("the table of exit codes and the help text have every code", () => {
  const codes = Object.values(exitCodes).map(String);
  const rows = [...document.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => code);
  expect(rows).toEqual(codes);
  expect([...exitCodesHelp.matchAll(/^ {2}(\d+) /gm)].map(([, code]) => code)).toEqual(codes);
});
