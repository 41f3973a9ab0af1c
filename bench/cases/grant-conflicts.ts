import type { Benchmark, Scale } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { load } from "../support/load.ts";
import { median, percentile, round, sum } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";

const callers = 64;
const counts = [1, 2, 4, 8];

/** What one number of processes did on one account. */
interface Run {
  readonly processes: number;
  readonly rate: number;
  readonly longestMs: number;
  /** Of the process that was served least, over a fair share. */
  readonly smallestShare: number;
  readonly errors: number;
}

/** One hot account on several processes, the callers dealt out among them. */
export const grantConflicts: Benchmark = {
  names: [
    "grant.conflicts.rate_4_over_1",
    "grant.conflicts.rate_2_over_1",
    "grant.conflicts.rate_8_over_1",
    "grant.conflicts.longest_wait",
    "grant.conflicts.smallest_share",
    "grant.conflicts.errors",
  ],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      const runs: Run[] = [];
      try {
        const servers: ServerProcess[] = [];
        for (let i = 0; i < Math.max(...counts); i++) {
          servers.push(await stack.startServer({ dynamoEndpoint: proxy.endpoint }));
        }
        for (let turn = 0; turn < scale.pick(3, 1); turn++) {
          for (const count of counts) runs.push(await run(scale, servers.slice(0, count)));
        }
      } finally {
        await proxy.stop();
      }
      return results(runs);
    }),
};

async function run(scale: Scale, servers: readonly ServerProcess[]): Promise<Run> {
  const processes = servers.length;
  const serverOf = (caller: number) => servers[caller % processes] as ServerProcess;
  const { rate, latencies, byCaller, errors, error } = await load({
    callers,
    warmMs: scale.pick(2_000, 500),
    ms: scale.pick(10_000, 1_500),
    call: (caller) => grant(serverOf(caller).channel, userName(1)),
  });
  const served = servers.map((_, i) =>
    sum(byCaller.filter((_, caller) => caller % processes === i)),
  );
  const fair = sum(served) / processes;
  const smallestShare = Math.min(...served) / fair;
  const longestMs = Math.max(...latencies);
  scale.note(
    `${processes} processes: ${rate.toFixed(0)}/s, p50 ${percentile(latencies, 0.5).toFixed(0)} ` +
      `p99 ${percentile(latencies, 0.99).toFixed(0)} longest ${longestMs.toFixed(0)} ms, ` +
      `served ${served}, errors ${errors} ${errors > 0 ? error : ""}`,
  );
  return { processes, rate, longestMs, smallestShare, errors };
}

function results(runs: readonly Run[]) {
  const of = (processes: number) => runs.filter((one) => one.processes === processes);
  const rate = (processes: number) => median(of(processes).map((one) => one.rate));
  const over = (processes: number, target: string) => ({
    name: `grant.conflicts.rate_${processes}_over_1`,
    value: round(rate(processes) / rate(1)),
    unit: "ratio of rates",
    target,
    baseline: "the same on one process",
  });
  const shares = counts.map((count) => median(of(count).map((one) => one.smallestShare)));
  return [
    over(4, ">= 0.3"),
    over(2, ""),
    over(8, ""),
    {
      name: "grant.conflicts.longest_wait",
      value: round(Math.max(...runs.map((one) => one.longestMs)) / 1_000),
      unit: "s, of any call on 1 to 8 processes",
      target: "<= 5",
      baseline: "",
    },
    {
      name: "grant.conflicts.smallest_share",
      value: round(Math.min(...shares)),
      unit: "of a fair share, on 2 to 8 processes",
      target: ">= 0.5",
      baseline: "",
    },
    {
      name: "grant.conflicts.errors",
      value: sum(runs.map((one) => one.errors)),
      unit: "calls refused on 1 to 8 processes",
      target: "<= 0",
      baseline: "",
    },
  ];
}
