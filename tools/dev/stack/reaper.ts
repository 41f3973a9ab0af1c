/**
 * Ends the servers of a process that was killed. It runs beside the process that started them (see
 * child.ts) and reads `+pid` and `-pid` lines from it. When the pipe closes, which happens however
 * that process ends, it ends all processes on its list.
 */
import { createInterface } from "node:readline";

const GRACE_MS = 3_000;

const pids = new Set<number>();
// Ctrl-C in the same terminal is for the parent; this process ends after the parent.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1));
  if (line.startsWith("+")) pids.add(pid);
  else pids.delete(pid);
}
signalAll("SIGTERM");
if (pids.size > 0) setTimeout(() => signalAll("SIGKILL"), GRACE_MS);

/** Signals every process group on the list, and drops those that have ended. */
function signalAll(signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(-pid, signal);
    } catch {
      pids.delete(pid);
    }
  }
}
