/** Measures how much of the machine's CPU time other processes use, from Linux's /proc. */
import { readdir, readFile } from "node:fs/promises";

/** CPU times so far, in ticks. */
export interface CpuTimes {
  /** All processors, idle or not. */
  readonly total: number;
  /** What processes have used, and what a hypervisor gave to other machines. */
  readonly used: number;
  /** What one process has used, and all that it has started. */
  readonly own: number;
}

/** The CPU times of this process and its descendants. Returns undefined where there is no /proc. */
export async function readCpuTimes(): Promise<CpuTimes | undefined> {
  try {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const stats = await Promise.all(
      // A process may end meanwhile; its parent then has its time.
      pids.map((each) => readFile(`/proc/${each}/stat`, "utf8").catch(() => "")),
    );
    return cpuTimesOf(await readFile("/proc/stat", "utf8"), stats, process.pid);
  } catch {
    return undefined;
  }
}

/** The same from the text of /proc/stat and those of /proc/PID/stat. */
export function cpuTimesOf(machine: string, processes: readonly string[], pid: number): CpuTimes {
  const ticks = /^cpu +(.*)$/m.exec(machine)?.[1]?.split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, stolen = 0] =
    ticks;
  // Interrupts belong to no process: those of the benchmark's own packets are among them.
  const used = user + nice + system + stolen;
  return { total: used + idle + wait + irq + softIrq, used, own: timeOfTree(processes, pid) };
}

/**
 * The share of the machine's CPU time that processes outside the tree have used. Returns undefined
 * when it is not known.
 */
export function foreignShare(
  before: CpuTimes | undefined,
  after: CpuTimes | undefined,
): number | undefined {
  if (!before || !after || after.total === before.total) return undefined;
  const foreign = after.used - before.used - (after.own - before.own);
  return Math.max(0, foreign / (after.total - before.total));
}

/** The time of a process and its descendants, with that of descendants that have ended. */
function timeOfTree(processes: readonly string[], root: number): number {
  const all = new Map(
    processes.flatMap((text) => {
      // The name is in parentheses and may contain any character.
      const fields = text
        .slice(text.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      const [, parent = 0] = fields;
      // utime, stime, and both of the children that have ended and their descendants.
      const [a = 0, b = 0, c = 0, d = 0] = fields.slice(11, 15);
      return text === "" ? [] : [[Number.parseInt(text, 10), { parent, ticks: a + b + c + d }]];
    }),
  );
  const isInTree = (pid: number): boolean => {
    if (pid === root) return true;
    const found = all.get(pid);
    return found !== undefined && isInTree(found.parent);
  };
  return [...all].reduce((sum, [pid, { ticks }]) => sum + (isInTree(pid) ? ticks : 0), 0);
}
