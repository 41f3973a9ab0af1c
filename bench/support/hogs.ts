/** Runs work on a slow machine: beside processes that always want to run. */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** The share of the cores that is left to all other processes, when one of them wants to run. */
export const share = 0.1;

/** A program that never waits, and ends when its parent has been killed. */
const busy = `
  const parent = process.ppid;
  while (process.ppid === parent) for (const end = Date.now() + 100; Date.now() < end; );
`;

/** Runs work beside nine busy processes a core, and ends them in any case. */
export async function starved<T>(work: () => Promise<T>): Promise<T> {
  const count = Math.round((1 / share - 1) * availableParallelism());
  const hogs = Array.from({ length: count }, () =>
    // In sessions of their own: Linux shares the cores among sessions first.
    spawn(process.execPath, ["-e", busy], { stdio: "ignore", detached: true }),
  );
  try {
    return await work();
  } finally {
    for (const hog of hogs) hog.kill("SIGKILL");
  }
}
