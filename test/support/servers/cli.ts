/** Runs the command `meguri` in a pipe and in a pseudo-terminal, as people and scripts do. */
import { spawn as spawnChild } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type IPty, spawn as spawnPty } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { projectRoot } from "../markdown.ts";
import { type DriverRequest, endMark } from "./cli-driver.ts";

/** What a command has printed. In a pseudo-terminal all of it is in `stdout`. */
interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that runs one command line after the other. */
export interface CommandLine {
  readonly isTerminal: boolean;
  /** The command lines so far. */
  readonly history: readonly (readonly string[])[];
  run(...argv: string[]): Promise<Printed>;
  /** Starts a command line that does not end by itself, or that waits for input. */
  start(...argv: string[]): RunningCommand;
  /** Variables of the environment for the commands from now on. */
  setEnv(env: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

export interface RunningCommand {
  readonly done: Promise<Printed>;
  /** Waits until standard output contains this text. */
  printed(text: string): Promise<void>;
  type(text: string): void;
  interrupt(): void;
}

/** The streams of a process. */
interface Streams {
  write(text: string): void;
  onData(take: (stream: "stdout" | "stderr", text: string) => void): void;
  readonly exited: Promise<void>;
}

const driver = join(projectRoot, "test/support/servers/cli-driver.ts");

/** Starts the process in a pipe or in a pseudo-terminal of 120 columns. */
export async function startCommandLine(
  mode: "pipe" | "terminal",
  env: Readonly<Record<string, string>>,
): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-cli-"));
  const path = join(folder, "socket");
  const server = createServer().listen(path);
  const args = [driver, path];
  const streams = mode === "pipe" ? inPipe(args) : inTerminal(args);
  const [socket] = (await once(server, "connection")) as [Socket];
  const send = (request: DriverRequest) => socket.write(`${JSON.stringify(request)}\n`);
  const printed = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  const waitFor = (isThere: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (isThere()) resolve();
      };
      waiting.add(check);
      check();
    });
  streams.onData((stream, text) => {
    printed[stream] += text;
    for (const check of waiting) check();
  });
  const history: string[][] = [];
  let variables = env;

  function start(...argv: string[]): RunningCommand {
    history.push(argv);
    Object.assign(printed, { stdout: "", stderr: "" });
    send({ argv, env: variables });
    const ends = mode === "pipe" ? (["stdout", "stderr"] as const) : (["stdout"] as const);
    const count = mode === "pipe" ? 1 : 2;
    const done = waitFor(() =>
      ends.every((stream) => marksIn(printed[stream]) >= count && printed[stream].endsWith("\n")),
    ).then(() => {
      waiting.clear();
      return resultOf(printed);
    });
    return {
      done,
      printed: (text) => waitFor(() => stripVTControlCharacters(printed.stdout).includes(text)),
      type: (text) => streams.write(text),
      interrupt: () => send("interrupt"),
    };
  }

  return {
    isTerminal: mode === "terminal",
    history,
    start,
    run: (...argv) => start(...argv).done,
    setEnv(more) {
      variables = { ...variables, ...more };
    },
    async close() {
      socket.end();
      await streams.exited;
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

const marksIn = (text: string): number => text.split(endMark).length - 1;

function resultOf({ stdout, stderr }: Record<"stdout" | "stderr", string>): Printed {
  const code = stdout.split(endMark).at(-1)?.trim() ?? "";
  if (!/^\d+$/.test(code)) throw new Error(`the command has thrown: ${code}`);
  const text = (printed: string) => plain(printed.slice(0, printed.indexOf(endMark)));
  return { code: Number(code), stdout: text(stdout), stderr: text(stderr) };
}

/** The text without colours and cursor movements, with the line ends of a file. */
export const plain = (text: string): string =>
  stripVTControlCharacters(text).replaceAll("\r\n", "\n");

function inPipe(args: readonly string[]): Streams {
  const child = spawnChild(process.execPath, args, { cwd: projectRoot });
  return {
    write: (text) => child.stdin.write(text),
    onData(take) {
      child.stdout.setEncoding("utf8").on("data", (text) => take("stdout", text));
      child.stderr.setEncoding("utf8").on("data", (text) => take("stderr", text));
    },
    exited: once(child, "exit").then(() => {}),
  };
}

function inTerminal(args: readonly string[]): Streams {
  const { NO_COLOR: _, ...env } = process.env;
  const pty = spawnPty(process.execPath, [...args], { cwd: projectRoot, cols: 120, env });
  return {
    write: (text) => pty.write(text),
    onData: (take) => void pty.onData((text) => take("stdout", text)),
    exited: new Promise((resolve) => pty.onExit(() => resolve())),
  };
}

const packageFolder = `${projectRoot}packages/cli/`;
const { bin } = JSON.parse(readFileSync(`${packageFolder}package.json`, "utf8"));

/** The file of the command, as npm links it. */
export const installedCommand = `${packageFolder}${bin.meguri}`;

/** How a process of the command has ended. */
interface Ended {
  readonly code: number;
  /** The number of the signal that has ended it. */
  readonly signal: number | undefined;
  readonly printed: string;
}

/**
 * Runs the command as a process of its own on a terminal, and types the keys once it has printed
 * the text; a function is called first, and "close" closes the terminal instead. Waits until the
 * process has ended.
 */
export async function typeInTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  text: RegExp,
  keys: string | (() => Promise<string>),
): Promise<Ended> {
  const argv = [installedCommand, ...args];
  const pty = spawnPty(process.execPath, argv, { cwd: projectRoot, cols: 120, env });
  const exited = new Promise<Omit<Ended, "printed">>((resolve) => {
    pty.onExit(({ exitCode, signal }) => resolve({ code: exitCode, signal: signal || undefined }));
  });
  let hasEnded = false;
  onTestFinished(() => {
    if (!hasEnded) pty.kill("SIGKILL");
  });
  let printed = "";
  let isTyped = false;
  pty.onData((data) => {
    printed += data;
    if (isTyped || !text.test(plain(printed))) return;
    isTyped = true;
    if (keys === "close") (pty as IPty & { destroy(): void }).destroy();
    else if (typeof keys === "string") pty.write(keys);
    else void keys().then((later) => pty.write(later));
  });
  const ended = await exited;
  hasEnded = true;
  return { ...ended, printed: plain(printed) };
}
