/** Generates load at a fixed rate: calls that do not wait for the answers of earlier ones. */
import { setTimeout as sleep } from "node:timers/promises";

/** The calls of a load, all of them answered. */
export interface Arrived {
  readonly sent: number;
  /** Answered calls a second while the load was on. */
  readonly rate: number;
  /** From the time at which each call was due until its answer, in ms. */
  readonly latencies: readonly number[];
}

/** Calls that arrive until `stop`, which waits for the answers and rejects if a call failed. */
export interface Arrivals {
  stop(): Promise<Arrived>;
}

/**
 * Sends call `n` at its time, `rate` calls a second from now on. A latency begins at that time, so
 * that it has what a call waited for in a process too busy to send it.
 */
export function startArrivals(rate: number, call: (n: number) => Promise<unknown>): Arrivals {
  const ending = new AbortController();
  const latencies: number[] = [];
  const calls: Promise<void>[] = [];
  const start = performance.now();

  async function send(n: number, due: number): Promise<void> {
    await call(n);
    latencies.push(performance.now() - due);
  }

  async function run(): Promise<void> {
    for (let n = 0; rate > 0; n++) {
      const due = start + (n * 1_000) / rate;
      await sleep(Math.max(due - performance.now(), 0), undefined, { signal: ending.signal });
      calls.push(send(n, due));
      // A failure is reported by `stop`.
      calls[n]?.catch(() => {});
    }
  }

  const running = run().catch((error) => {
    if (!ending.signal.aborted) throw error;
  });
  return {
    async stop() {
      const answered = latencies.length;
      const seconds = (performance.now() - start) / 1_000;
      ending.abort();
      await running;
      await Promise.all(calls);
      return { sent: calls.length, rate: answered / seconds, latencies };
    },
  };
}
