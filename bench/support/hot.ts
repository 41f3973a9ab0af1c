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
  /** The name of the benchmark, also with the ends `.locked` and `.locked.queued`. */
  readonly name: string;
  readonly callers: number;
  readonly rounds: number;
  readonly target: string;
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

/** Runs through the proxy that locks the items of transactions. */
export const hotLockedOf = (hot: Hot): Benchmark => {
  const name = `${hot.name}.locked`;
  return {
    names: [name, `${name}.queued`],
    run: (scale) =>
      withStack({}, async (stack) => {
        const proxy = await startLockingProxy(stack.dynamo.endpoint);
        const unit = "ratio of rates";
        const again = "tried again until it wins";
        try {
          return [
            {
              name,
              ...(await ratio(hot, stack, scale, proxy.endpoint)),
              unit,
              target: ">= 10",
              baseline: `${nameOf(hot)}: ${hot.bare.replace(/, without .*/, "")}, ${again}`,
            },
            {
              name: `${name}.queued`,
              ...(await ratio(hot, stack, scale, proxy.endpoint, { BENCH_QUEUE: "1" })),
              unit,
              target: "",
              baseline: `${nameOf(hot)}, ${hot.queue}`,
            },
          ] satisfies Result[];
        } finally {
          await proxy.stop();
        }
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
