/** Starts the locking proxy in front of a benchmark's store. */
import { type Process, startProcess } from "./stack.ts";

/** An estimate of how long a transaction locks its items on AWS, which does not document it. */
export const lockMs = 8;

export interface LockingProxy extends Process {
  readonly endpoint: string;
}

/** Starts a proxy in a process of its own that locks the items of transactions as AWS does. */
export async function startLockingProxy(upstream: string, ms = lockMs): Promise<LockingProxy> {
  const env = { BENCH_UPSTREAM: upstream, BENCH_LOCK_MS: String(ms) };
  const { pid, stop, ready } = await startProcess("bench/support/proxy-process.ts", env);
  return { pid, stop, endpoint: String(ready.endpoint) };
}
