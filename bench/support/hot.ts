/** Benchmarks of one key with many callers on one process. */
import { parse } from "node:path";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { byTurns, load } from "./load.ts";
import { ratioByTurns, type Turns } from "./numbers.ts";
import { startLockingProxy } from "./proxy.ts";
import type { Channel } from "./rpc.ts";
import { type Stack, withStack } from "./stack.ts";

/** One call on one key from many callers, compared with a baseline. */
export interface Hot {
  /** The name of the benchmark, also with the ends `.locked_2ms`, `.locked_4ms` and so on. */
  readonly name: string;
  readonly callers: number;
  readonly rounds: number;
  readonly target: string;
  /** The targets by the number of milliseconds for which a transaction locks its items. */
  readonly locked: Readonly<Record<number, string>>;
  /** The file of the baseline server, from the project's root. */
  readonly plain: string;
  /** The descriptions of the baseline: on the bare emulator, and with its calls in a queue. */
  readonly bare: string;
  readonly queue: string;
  /** Prepares unused keys. Returns the service's call and the baseline's. */
  prepare(stack: Stack, ours: Channel): Promise<readonly [HotCall, HotCall]>;
}

const nameOf = ({ plain }: Hot) => parse(plain).name;

type HotCall = (channel: Channel) => Promise<unknown>;

/** Runs on the bare emulator. */
export const hotOf = (hot: Hot): Benchmark => ({
  names: [hot.name],
  run: (scale) =>
    withStack({}, async (stack) => [
      {
        name: hot.name,
        ...(await ratio(hot, stack, scale, undefined)),
        unit: "ratio of rates",
        target: hot.target,
        baseline: `${nameOf(hot)}: ${hot.bare}`,
      },
    ]),
});

/**
 * Runs through the proxy that locks the items of transactions, for several durations, because AWS
 * documents none. The baseline sends the transactions of one key one after another, as fast as it
 * can: it meets no lock.
 */
export const hotLockedOf = (hot: Hot): Benchmark => {
  const rows = Object.entries(hot.locked).map(([ms, target]) => ({
    name: `${hot.name}.locked_${ms}ms`,
    ms: Number(ms),
    target,
  }));
  return {
    names: rows.map(({ name }) => name),
    run: (scale) =>
      withStack({}, async (stack) => {
        const results: Result[] = [];
        for (const { name, ms, target } of rows) {
          const proxy = await startLockingProxy(stack.dynamo.endpoint, ms);
          try {
            const turns = await ratio(hot, stack, scale, proxy.endpoint, { BENCH_QUEUE: "1" });
            const baseline = `${nameOf(hot)}, ${hot.queue}`;
            results.push({ name, ...turns, unit: "ratio of rates", target, baseline });
          } finally {
            await proxy.stop();
          }
        }
        return results;
      }),
  };
};

async function ratio(
  hot: Hot,
  stack: Stack,
  scale: Scale,
  dynamoEndpoint: string | undefined,
  env: Readonly<Record<string, string>> = {},
): Promise<Turns> {
  const options = { ...(dynamoEndpoint && { dynamoEndpoint }) };
  const ours = await stack.startServer(options);
  const plain = await stack.startServer({ ...options, entry: hot.plain, env });
  const [ourCall, plainCall] = await hot.prepare(stack, ours.channel);
  const { callers } = hot;
  const times = { callers, warmMs: scale.pick(1_000, 500), ms: scale.pick(3_000, 1_000) };
  const loads = (rounds: number) =>
    byTurns(
      rounds,
      () => load({ ...times, call: () => ourCall(ours.channel) }),
      () => load({ ...times, call: () => plainCall(plain.channel) }),
    );
  // The first seconds are not measured, because the emulator's compiler is still at work.
  await loads(scale.pick(4, 0));
  const { a, b } = await loads(scale.pick(hot.rounds, 1));
  const rates = (loads: typeof a) => loads.map(({ rate }) => rate);
  const errors = [...a, ...b].map((one) => one.errors).join(" ");
  scale.note(
    `ours ${rates(a).map(Math.round)}/s, plain ${rates(b).map(Math.round)}/s, errors ${errors}`,
  );
  await plain.stop();
  await ours.stop();
  return ratioByTurns(rates(a), rates(b));
}
