/** Meguri's own processes (`src/server.ts`, `src/worker.ts`), started as production starts them. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Child } from "./child.ts";
import { adopt, waitUntilReady } from "./child.ts";

const ROOT = `${import.meta.dirname}/../../..`;
const READY_TIMEOUT_MS = 60_000;

export type ServiceOptions = {
  readonly name: string;
  /** Path from the project's root: `src/server.ts`. */
  readonly entry: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
};

/**
 * Starts the process and waits for its log line with `"msg":"ready"`.
 *
 * @throws Error when it ends or a minute passes before that, with the end of its output.
 */
export async function startService(options: ServiceOptions): Promise<Child> {
  let ready = false;
  const child = await start(options, (line) => {
    ready ||= isReadyLine(line);
    options.onLine?.(line);
  });
  await waitUntilReady(child, async () => ready, READY_TIMEOUT_MS);
  return child;
}

/**
 * Runs the process to its end.
 *
 * @throws Error when it ends with anything but exit code 0.
 */
export async function runToEnd(options: ServiceOptions): Promise<void> {
  const child = await start(options, (line) => options.onLine?.(line));
  const end = await child.exited;
  if (end !== "exit code 0") throw new Error(`${options.name}: ${end}\n${child.lastOutput()}`);
}

function start(options: ServiceOptions, onLine: (line: string) => void): Promise<Child> {
  const process_ = spawn(process.execPath, [...nodeFlags(options.entry), options.entry], {
    cwd: ROOT,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  return adopt(process_, { name: options.name, onLine });
}

/** Node's flags for an entry, as the npm script that runs it has them: `exec node FLAG… ENTRY`. */
export function nodeFlags(entry: string): string[] {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8"));
  for (const script of Object.values<string>(scripts)) {
    const [exec, node, ...rest] = script.split(" ");
    if (exec === "exec" && node === "node" && rest.pop() === entry) return rest;
  }
  return [];
}

function isReadyLine(line: string): boolean {
  try {
    return JSON.parse(line).msg === "ready";
  } catch {
    return false;
  }
}
