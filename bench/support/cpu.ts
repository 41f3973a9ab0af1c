/** Reads the CPU time of processes, alone and for each call of a load. */
import { readFile } from "node:fs/promises";
import { type Load, type LoadOptions, load } from "./load.ts";
import { sum } from "./numbers.ts";

/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100;

/** The CPU time that a process and its threads have used so far, in seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = await statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * Runs load, and measures the CPU time that a process uses for a call, in seconds. Throws an error
 * of a call, because a refused call costs less than an answered one.
 */
export async function loadWithCpu(
  pid: number,
  options: LoadOptions,
): Promise<Load & { readonly cpu: number }> {
  let calls = 0;
  const call = async (...args: Parameters<typeof options.call>) => {
    await options.call(...args);
    calls += 1;
  };
  const before = await cpuSeconds(pid);
  const result = await load({ ...options, call });
  if (result.errors > 0) throw result.error;
  return { ...result, cpu: ((await cpuSeconds(pid)) - before) / calls };
}

/** The same of several processes together. */
export const cpuSecondsOf = async (pids: readonly number[]): Promise<number> =>
  sum(await Promise.all(pids.map(cpuSeconds)));

/** The same of a process, its children, and those of them that have ended, as Postgres has many. */
export async function cpuSecondsWithChildren(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const running = children.split(" ").filter(Boolean).map(Number);
  const fields = await statOf(pid);
  const ended = (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
  return ended + (await cpuSecondsOf([pid, ...running]));
}

/** The fields of `/proc/<pid>/stat` after the name, which may contain any character. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
