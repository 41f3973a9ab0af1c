import { type Process, startProcess } from "./stack.ts";

/** How long a transaction holds its items on AWS, as far as it can be told from outside. */
export const lockMs = 8;

export interface LockingProxy extends Process {
  readonly endpoint: string;
}

/** A proxy in a process of its own that locks the items of transactions as AWS does. */
export async function startLockingProxy(upstream: string, ms = lockMs): Promise<LockingProxy> {
  const env = { BENCH_UPSTREAM: upstream, BENCH_LOCK_MS: String(ms) };
  const { pid, stop, ready } = await startProcess("bench/support/proxy-process.ts", env);
  return { pid, stop, endpoint: String(ready.endpoint) };
}
