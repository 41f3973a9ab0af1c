/** Reads the CPU time of a process. */
import { readFile } from "node:fs/promises";

/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100;

/** The CPU time that a process and its threads have used so far, in seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name is in parentheses and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
