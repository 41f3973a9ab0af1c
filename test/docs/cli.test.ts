/** Compares the tables of docs/call/cli.md with the command; bare-clone.check.ts runs it. */
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { exitCodes, exitCodesHelp } from "../../packages/cli/src/exit-codes.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { projectRoot } from "../support/markdown.ts";

const document = readFileSync(`${projectRoot}docs/call/cli.md`, "utf8");

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
