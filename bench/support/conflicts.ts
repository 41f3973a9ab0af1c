import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { median, round, sum } from "./numbers.ts";
import { startLockingProxy } from "./proxy.ts";
import { type ServerProcess, type Stack, withStack } from "./stack.ts";

/** How many callers and how many processes. */
export const callers = 64;
export const counts = [1, 2, 4, 8];

/** What one number of processes did. */
export interface Run {
  readonly processes: number;
  /** Calls a second. */
  readonly rate: number;
  /** Of any call, in milliseconds. */
  readonly longestMs: number;
  readonly errors: number;
}

/** Calls on one key, dealt out among processes that are in each other's way. */
export interface Conflicts<R extends Run> {
  readonly name: string;
  readonly prepare?: (stack: Stack) => Promise<unknown>;
  readonly run: (scale: Scale, servers: readonly ServerProcess[]) => Promise<Omit<R, "processes">>;
  /** What its runs show, by the end of the name. */
  readonly results: Readonly<Record<string, (runs: readonly R[]) => Omit<Result, "name">>>;
}

/** How long calls of the benchmark are counted. */
export const times = (scale: Scale) => ({
  warmMs: scale.pick(2_000, 500),
  ms: scale.pick(10_000, 1_500),
});

/** Through the proxy that locks the items of transactions. */
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
          for (let turn = 0; turn < scale.pick(3, 1); turn++) {
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

const rate = (runs: readonly Run[], processes: number) =>
  median(runs.filter((one) => one.processes === processes).map((one) => one.rate));

const over = (processes: number, target: string) => (runs: readonly Run[]) => ({
  value: round(rate(runs, processes) / rate(runs, 1)),
  unit: "ratio of rates",
  target,
  baseline: "the same on one process",
});

/** How the rates on several processes compare with that on one. */
export const rates = {
  rate_4_over_1: over(4, ">= 0.3"),
  rate_2_over_1: over(2, ""),
  rate_8_over_1: over(8, ""),
};

/** How long calls wait, and how many are given up. */
export const waits = {
  longest_wait: (runs: readonly Run[]) => ({
    value: round(Math.max(...runs.map((one) => one.longestMs)) / 1_000),
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
