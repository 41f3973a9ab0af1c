/** Manages child processes: they end with their parent, and the end of their output is kept. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const KEPT_LINES = 30;
const STOP_TIMEOUT_MS = 15_000;
const LAST_OUTPUT_MS = 1_000;
const POLL_MS = 50;

/**
 * A process that lives is waited for, however slow its machine is. Its limit is only for one that
 * hangs, and is below the time limit of the tests' hooks, so that it can still say what it was.
 */
const START_TIMES = { sayEveryMs: 10_000, giveUpMs: 4 * 60_000 };

/** A running child process. */
export type Child = {
  readonly name: string;
  readonly pid: number;
  /** Resolves, never rejects, with the reason once the process has ended: `exit code 1`. */
  readonly exited: Promise<string>;
  /** The last lines of stdout and stderr, for error messages. */
  lastOutput(): string;
  /** Sends SIGTERM, and SIGKILL after 15 s. Resolves when the process has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, like a crash. Resolves when the process has ended. */
  killHard(): Promise<void>;
};

/** The options of {@link adopt}. */
type ChildOptions = {
  readonly name: string;
  /** Called with every line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
};

/**
 * Manages a process that was spawned with `detached: true`: it has a process group of its own, so
 * that Ctrl-C reaches only the parent, which then stops its children in order. However this process
 * ends, the reaper ends the child.
 */
export async function adopt(process_: ChildProcess, options: ChildOptions): Promise<Child> {
  const kept: string[] = [];
  const keep = (line: string) => {
    kept.push(line);
    if (kept.length > KEPT_LINES) kept.shift();
    options.onLine?.(line);
  };
  for (const stream of [process_.stdout, process_.stderr]) readLines(stream, keep);

  const closed = once(process_, "close").catch(() => {});
  const exited = new Promise<string>((resolve) => {
    process_.once("exit", async (code, signal) => {
      // Its last output may still be on its way, and a child of its own may keep it open for long.
      await Promise.race([closed, sleep(LAST_OUTPUT_MS, undefined, { ref: false })]);
      resolve(signal ?? `exit code ${code}`);
    });
    process_.once("error", (error) => resolve(error.message));
  });
  const pid = process_.pid;
  if (pid === undefined) throw new Error(`${options.name} did not start: ${await exited}`);
  reaper().write(`+${pid}\n`);
  void exited.then(() => reaper().write(`-${pid}\n`));

  return {
    name: options.name,
    pid,
    exited,
    lastOutput: () => kept.join("\n"),
    stop: () => stop(process_, exited),
    async killHard() {
      process_.kill("SIGKILL");
      await exited;
    },
  };
}

/**
 * Polls `check` until it returns true. Says on stderr every 10 s what it waits for.
 *
 * @throws Error when the child ends first or four minutes are over, with the end of its output.
 */
export async function waitUntilReady(
  child: Child,
  check: () => Promise<boolean>,
  { sayEveryMs, giveUpMs } = START_TIMES,
): Promise<void> {
  let end: string | undefined;
  void child.exited.then((why) => {
    end = why;
  });
  const failed = (why: string) =>
    new Error(`${child.name} did not start (${why})\n${child.lastOutput()}`.trimEnd());
  const started = performance.now();
  let sayAt = sayEveryMs;
  for (;;) {
    const isReady = await check();
    // First, because another process may answer on the port that the child did not get.
    if (end !== undefined) throw failed(end);
    if (isReady) return;
    const waitedMs = performance.now() - started;
    if (waitedMs >= giveUpMs) {
      await child.stop();
      throw failed(`not ready after ${giveUpMs / 1_000} s`);
    }
    if (waitedMs >= sayAt) {
      const last = child.lastOutput().split("\n").at(-1);
      console.error(
        `still waiting for ${child.name} (${sayAt / 1_000} s): ${last || "no output yet"}`,
      );
      sayAt += sayEveryMs;
    }
    await sleep(POLL_MS);
  }
}

async function stop(process_: ChildProcess, exited: Promise<string>): Promise<void> {
  process_.kill("SIGTERM");
  const timer = setTimeout(() => process_.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on("line", onLine);
}

let reaperInput: Writable | undefined;

/** The pipe to the reaper, which starts with the first child and does not keep this one alive. */
function reaper(): Writable {
  if (reaperInput !== undefined) return reaperInput;
  const process_ = spawn(process.execPath, [`${import.meta.dirname}/reaper.ts`], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  process_.unref();
  process_.on("error", () => {});
  process_.stdin.on("error", () => {});
  (process_.stdin as Socket).unref();
  reaperInput = process_.stdin;
  return reaperInput;
}
