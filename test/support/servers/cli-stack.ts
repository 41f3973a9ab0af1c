/** A server with a worker, and what tests of `meguri` expect of command lines against it. */
import type { Command } from "commander";
import { expect } from "vitest";
import { createProgram } from "../../../packages/cli/src/program.ts";
import { createExportFolder, type ExportFolderFixture } from "../fixtures/export-folder.ts";
import type { CommandLine } from "./cli.ts";
import { startServer, type TestServer } from "./server.ts";
import { startWorkerStack } from "./worker.ts";

export interface CliStack {
  readonly server: TestServer;
  /** The folder of the destination `audit`. */
  readonly exports: ExportFolderFixture;
  /** The variables with which `meguri` calls the server. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts the server and the worker. */
export async function startCliStack(): Promise<CliStack> {
  const exports = await createExportFolder(["default"]);
  const env = { MEGURI_BULK_ROWS_PER_SECOND: "1000", ...exports.env };
  const stack = await startWorkerStack({ env });
  const { tablePrefix } = stack.config;
  const { workflows } = stack;
  const server = await startServer({ tablePrefix, workflows, testClock: false, env: exports.env });
  await server.programs.createProgram({ programId: "default" });
  return {
    server,
    exports,
    env: { MEGURI_URL: `http://127.0.0.1:${server.port}`, MEGURI_CALLER: "rin" },
    async stop() {
      await server.stop();
      await stack.stop();
      await exports.delete();
    },
  };
}

/** The ways in which people and scripts run `meguri`. */
export const modes = ["pipe", "terminal"] as const;

export type Mode = (typeof modes)[number];

/** Runs command lines of a mode; `line` returns the process, which may not have started yet. */
export function expectations(mode: Mode, line: () => CommandLine) {
  const isTerminal = mode === "terminal";

  /** Runs a command that has to succeed, and returns what it prints for its reader. */
  async function done(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await line().run(...argv);
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  }

  /** Runs a command that has to fail, and returns its message. */
  async function failed(code: number, ...argv: string[]): Promise<string> {
    const { stdout, stderr, ...ended } = await line().run(...argv);
    expect(ended, stdout + stderr).toEqual({ code });
    return isTerminal ? stdout : stderr;
  }

  /** A line of cells, as this mode prints it. */
  const cells = (...texts: string[]) =>
    expect.stringMatching(new RegExp(texts.join(isTerminal ? " +" : "\t")));

  /** Expects that every command whose name `isMeant` was run. */
  function expectAllRun(isMeant: (name: string) => boolean): void {
    const run = line().history.map((argv) => argv.filter((text) => text !== "--json").join(" "));
    const missing = commandNames()
      .filter(isMeant)
      .filter((name) => !run.some((argv) => argv.startsWith(name)));
    expect(missing).toEqual([]);
  }

  return { done, failed, cells, expectAllRun };
}

/** The names of all commands that are not groups, such as `bulk submit`. */
function commandNames(): string[] {
  const { stdin, stdout, stderr, env } = process;
  const { signal } = new AbortController();
  const program = createProgram({ stdin, stdout, stderr, env, signal }, () => async () => {});
  const visit = (command: Command, path: string): string[] => {
    const children = command.createHelp().visibleCommands(command);
    if (children.length === 0) return [path];
    const named = children.filter((child) => child.name() !== "help" || path === "");
    return named.flatMap((child) => visit(child as Command, `${path} ${child.name()}`.trim()));
  };
  return visit(program, "");
}
