/** Generates load: callers in a closed loop, and tasks in parallel. */
import { setTimeout as sleep } from "node:timers/promises";

/** Callers that send one call after another, each as soon as the last one is answered. */
export interface LoadOptions {
  readonly callers: number;
  /** Sends call `n` of a caller. A rejection is counted as an error. */
  readonly call: (caller: number, n: number) => Promise<unknown>;
  /** How long the load runs before it is measured. */
  readonly warmMs: number;
  readonly ms: number;
}

export interface Load {
  /** Answered calls a second. */
  readonly rate: number;
  /** The latencies of the answered calls, in ms. */
  readonly latencies: readonly number[];
  /** Answered calls by caller. */
  readonly byCaller: readonly number[];
  readonly errors: number;
  /** One of the errors, for a note. */
  readonly error: unknown;
}

/** Runs closed-loop load for a while and waits until every call is answered. */
export async function load({ callers, call, warmMs, ms }: LoadOptions): Promise<Load> {
  let counting = false;
  let stopped = false;
  let errors = 0;
  let failure: unknown;
  const latencies: number[] = [];
  const byCaller = Array<number>(callers).fill(0);

  async function run(caller: number): Promise<void> {
    for (let n = 0; !stopped; n++) {
      const sent = performance.now();
      try {
        await call(caller, n);
        if (!counting) continue;
        latencies.push(performance.now() - sent);
        byCaller[caller] = (byCaller[caller] ?? 0) + 1;
      } catch (error) {
        failure = error;
        if (counting) errors += 1;
        // Prevents a busy loop when a server refuses at once.
        await sleep(1);
      }
    }
  }

  const running = Array.from({ length: callers }, (_, caller) => run(caller));
  await sleep(warmMs);
  counting = true;
  const start = performance.now();
  await sleep(ms);
  counting = false;
  const seconds = (performance.now() - start) / 1_000;
  stopped = true;
  await Promise.all(running);
  return { rate: latencies.length / seconds, latencies, byCaller, errors, error: failure };
}

/** Runs A and B in turn, so that a change of the machine's speed affects both. */
export async function byTurns<A, B>(
  rounds: number,
  a: (round: number) => Promise<A>,
  b: (round: number) => Promise<B>,
): Promise<{ a: A[]; b: B[] }> {
  const results: { a: A[]; b: B[] } = { a: [], b: [] };
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) results.a.push(await a(round));
    results.b.push(await b(round));
    if (round % 2 === 1) results.a.push(await a(round));
  }
  return results;
}

/** Runs up to `width` tasks at once. */
export async function inParallel<T>(
  width: number,
  tasks: Iterable<T>,
  run: (task: T) => Promise<unknown>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  const worker = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
