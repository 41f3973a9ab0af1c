/** Benchmarks of one key that several processes write. */
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { greatestOf, ratioByTurns, sum } from "./numbers.ts";
import { startLockingProxy } from "./proxy.ts";
import { type ServerProcess, type Stack, withStack } from "./stack.ts";

/** The number of callers, and the numbers of processes. */
export const callers = 64;
export const counts = [1, 4, 8];

/** The measurements of one number of processes. */
export interface Run {
  readonly processes: number;
  /** Calls a second. */
  readonly rate: number;
  /** The longest latency of a call, in ms. */
  readonly longestMs: number;
  readonly errors: number;
}

/** Calls on one key that are sent to several processes, which conflict with each other. */
export interface Conflicts<R extends Run> {
  readonly name: string;
  readonly prepare?: (stack: Stack) => Promise<unknown>;
  readonly run: (scale: Scale, servers: readonly ServerProcess[]) => Promise<Omit<R, "processes">>;
  /** Computes the results from the runs, by the end of the result's name. */
  readonly results: Readonly<Record<string, (runs: readonly R[]) => Omit<Result, "name">>>;
}

/** How long a run warms up, and how long it is measured. */
export const times = (scale: Scale) => ({
  warmMs: scale.pick(2_000, 500),
  ms: scale.pick(5_000, 1_500),
});

/** Runs through the proxy that locks the items of transactions. */
export function conflictsOf<R extends Run>(conflicts: Conflicts<R>): Benchmark {
  const { name, prepare, run, results } = conflicts;
  return {
    names: Object.keys(results).map((end) => `${name}.${end}`),
    run: (scale) =>
      withStack({}, async (stack) => {
        await prepare?.(stack);
        const proxy = await startLockingProxy(stack.dynamo.endpoint);
        const runs: R[] = [];
        try {
          const servers: ServerProcess[] = [];
          for (let i = 0; i < Math.max(...counts); i++) {
            servers.push(await stack.startServer({ dynamoEndpoint: proxy.endpoint }));
          }
          for (let turn = 0; turn < scale.pick(2, 1); turn++) {
            for (const processes of counts) {
              const one = await run(scale, servers.slice(0, processes));
              runs.push({ ...one, processes } as R);
            }
          }
        } finally {
          await proxy.stop();
        }
        return Object.entries(results).map(([end, of]) => ({
          name: `${name}.${end}`,
          ...of(runs),
        }));
      }),
  };
}

const ratesOf = (runs: readonly Run[], processes: number) =>
  runs.filter((one) => one.processes === processes).map((one) => one.rate);

/** The rate on four processes over that on one. */
export const rates = {
  rate_4_over_1: (runs: readonly Run[]) => ({
    ...ratioByTurns(ratesOf(runs, 4), ratesOf(runs, 1)),
    unit: "ratio of rates",
    target: ">= 0.3",
    baseline: "the same on one process",
  }),
};

/** The longest wait of a call, and the number of calls that fail. */
export const waits = {
  longest_wait: (runs: readonly Run[]) => ({
    ...greatestOf(runs.map((one) => one.longestMs / 1_000)),
    unit: "s, of any call on 1 to 8 processes",
    target: "<= 5",
    baseline: "",
  }),
  errors: (runs: readonly Run[]) => ({
    value: sum(runs.map((one) => one.errors)),
    unit: "calls refused on 1 to 8 processes",
    target: "<= 0",
    baseline: "",
  }),
};
