import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { type Stack, withStack } from "../support/stack.ts";

const callers = 64;

/** Grants on one account, over one transaction for each grant through the same RPC path. */
export const grantHot: Benchmark = {
  names: ["grant.hot"],
  run: (scale) =>
    withStack({}, async (stack) => [
      {
        name: "grant.hot",
        value: await ratio(stack, scale, undefined),
        unit: "ratio of rates",
        target: ">= 3",
        baseline: "plain-server: a transaction for each grant, without a version",
      },
    ]),
};

/** The same through the proxy that locks the items of transactions. */
export const grantHotLocked: Benchmark = {
  names: ["grant.hot.locked", "grant.hot.locked.queued"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      try {
        return [
          {
            name: "grant.hot.locked",
            value: await ratio(stack, scale, proxy.endpoint),
            unit: "ratio of rates",
            target: ">= 10",
            baseline: "plain-server: a transaction for each grant, tried again until it wins",
          },
          {
            name: "grant.hot.locked.queued",
            value: await ratio(stack, scale, proxy.endpoint, { BENCH_QUEUE: "1" }),
            unit: "ratio of rates",
            target: "",
            baseline: "plain-server, with the calls of one account in a queue",
          },
        ] satisfies Result[];
      } finally {
        await proxy.stop();
      }
    }),
};

async function ratio(
  stack: Stack,
  scale: Scale,
  dynamoEndpoint: string | undefined,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const way = { ...(dynamoEndpoint && { dynamoEndpoint }) };
  const entry = "bench/baselines/plain-server.ts";
  const ours = await stack.startServer(way);
  const plain = await stack.startServer({ ...way, entry, env });
  const times = { callers, warmMs: scale.pick(1_000, 500), ms: scale.pick(3_000, 1_000) };
  // The plain way changes an account in place, so it has to be there.
  const hot = userName(1);
  const plainHot = userName(2);
  await grant(ours.channel, plainHot);
  const loads = (rounds: number) =>
    byTurns(
      rounds,
      () => load({ ...times, call: () => grant(ours.channel, hot) }),
      () => load({ ...times, call: () => grant(plain.channel, plainHot) }),
    );
  // Nobody's first seconds count: the emulator's compiler is still at work.
  await loads(scale.pick(2, 0));
  const { a, b } = await loads(scale.pick(8, 1));
  const rates = (loads: typeof a) => loads.map(({ rate }) => rate.toFixed(0)).join(" ");
  const errors = [...a, ...b].map((one) => one.errors).join(" ");
  scale.note(`ours ${rates(a)}/s, plain ${rates(b)}/s, errors ${errors}`);
  await plain.stop();
  await ours.stop();
  return round(median(a.map(({ rate }, i) => rate / (b[i]?.rate ?? Number.NaN))));
}
