/**
 * Ends the servers that a killed process left behind. It runs beside the process that started them
 * (see child.ts), reads `+pid` and `-pid` lines from it, and when the pipe closes, which it does
 * however that process died, ends whatever is still on the list.
 */
import { createInterface } from "node:readline";

const GRACE_MS = 3_000;

const pids = new Set<number>();
// Ctrl-C in the same terminal is for the parent; this process goes when the parent is gone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1));
  if (line.startsWith("+")) pids.add(pid);
  else pids.delete(pid);
}
signalAll("SIGTERM");
if (pids.size > 0) setTimeout(() => signalAll("SIGKILL"), GRACE_MS);

/** Signals every process group on the list and forgets those that are gone. */
function signalAll(signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(-pid, signal);
    } catch {
      pids.delete(pid);
    }
  }
}
