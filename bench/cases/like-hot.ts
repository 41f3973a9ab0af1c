import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { commentOf, like, register } from "../support/likes.ts";
import { byTurns, load } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { type Stack, withStack } from "../support/stack.ts";

const callers = 128;

/** Likes of one comment, each by somebody new, over one transaction for each like. */
export const likeHot: Benchmark = {
  names: ["like.hot"],
  run: (scale) =>
    withStack({}, async (stack) => [
      {
        name: "like.hot",
        value: await ratio(stack, scale, undefined),
        unit: "ratio of rates",
        target: ">= 4",
        baseline: "plain-likes: a transaction for each like, without versions",
      },
    ]),
};

/** The same through the proxy that locks the items of transactions. */
export const likeHotLocked: Benchmark = {
  names: ["like.hot.locked", "like.hot.locked.queued"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      try {
        return [
          {
            name: "like.hot.locked",
            value: await ratio(stack, scale, proxy.endpoint),
            unit: "ratio of rates",
            target: ">= 10",
            baseline: "plain-likes: a transaction for each like, tried again until it wins",
          },
          {
            name: "like.hot.locked.queued",
            value: await ratio(stack, scale, proxy.endpoint, { BENCH_QUEUE: "1" }),
            unit: "ratio of rates",
            target: "",
            baseline: "plain-likes, with the likes for one owner in a queue",
          },
        ] satisfies Result[];
      } finally {
        await proxy.stop();
      }
    }),
};

let comments = 0;

async function ratio(
  stack: Stack,
  scale: Scale,
  dynamoEndpoint: string | undefined,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const way = { ...(dynamoEndpoint && { dynamoEndpoint }) };
  const entry = "bench/baselines/plain-likes.ts";
  const ours = await stack.startServer(way);
  const plain = await stack.startServer({ ...way, entry, env });
  const times = { callers, warmMs: scale.pick(1_000, 500), ms: scale.pick(3_000, 1_000) };
  const hot = commentOf(++comments);
  const plainHot = commentOf(++comments);
  await register(stack, hot);
  await register(stack, plainHot);
  const loads = (rounds: number) =>
    byTurns(
      rounds,
      () => load({ ...times, call: () => like(ours.channel, hot) }),
      () => load({ ...times, call: () => like(plain.channel, plainHot) }),
    );
  // Nobody's first seconds count: the emulator's compiler is still at work.
  await loads(scale.pick(2, 0));
  const { a, b } = await loads(scale.pick(6, 1));
  const rates = (loads: typeof a) => loads.map(({ rate }) => rate.toFixed(0)).join(" ");
  const errors = [...a, ...b].map((one) => one.errors).join(" ");
  scale.note(`ours ${rates(a)}/s, plain ${rates(b)}/s, errors ${errors}`);
  await plain.stop();
  await ours.stop();
  return round(median(a.map(({ rate }, i) => rate / (b[i]?.rate ?? Number.NaN))));
}
