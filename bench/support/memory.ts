/** Reads the resident memory of a process. */
import { readFile } from "node:fs/promises";

/** The most resident memory that a process has had since its start, in MB. */
export const mostResidentMb = async (pid: number): Promise<number> =>
  (await statusKb(pid, "VmHWM")) / 1_024;

/** The resident memory of a process, in KB. */
export const residentKb = (pid: number): Promise<number> => statusKb(pid, "VmRSS");

async function statusKb(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
}
