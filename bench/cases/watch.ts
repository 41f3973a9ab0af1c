/** Measures the delay and the cost of unread count streams. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { commentOf, like, register } from "../support/likes.ts";
import { withMeteredStack } from "../support/metered.ts";
import { percentile, round } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { type Stack, withStack } from "../support/stack.ts";
import { startWatchers, type Watcher } from "../support/watchers.ts";

/** The time between two polls of a server. */
const periodMs = 1_000;

const places = ["same_process", "other_process"] as const;

/**
 * The time from the answer to a like to the new count, on a stream of the process that committed
 * the like and on a stream of another one.
 */
export const watchDelay: Benchmark = {
  names: places.map((place) => `watch.delay.${place}`),
  run: (scale) =>
    withStack({}, async (stack) => {
      const here = await stack.startServer();
      const there = await stack.startServer();
      const watchers = [startWatchers(here), startWatchers(there)];
      const delays: readonly number[][] = watchers.map(() => []);
      const end = performance.now() + scale.pick(40_000, 3_000);
      const owners = Array.from({ length: scale.pick(40, 5) }, (_, i) => commentOf(i));
      await Promise.all(
        owners.map(async (liked) => {
          await register(stack, liked);
          const streams = watchers.map(({ watch }) => watch(liked.ownerId));
          for (let people = 1; performance.now() < end; people++) {
            // Likes at a random moment of a period, so that owners are not in step.
            await sleep(periodMs * Math.random());
            await like(here.channel, liked);
            const answered = performance.now();
            const received = await Promise.all(streams.map((stream) => stream.receivedAt(people)));
            for (const [i, time] of received.entries()) {
              delays[i]?.push(Math.max(0, time - answered));
            }
          }
        }),
      );
      for (const { stop } of watchers) stop();
      return places.map((place, i) => delayOf(scale, place, delays[i] ?? []));
    }),
};

function delayOf(scale: Scale, place: string, delays: readonly number[]): Result {
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(delays, share)) as [number, number];
  scale.note(
    `${place}: ${delays.length} likes, p50 ${p50.toFixed(0)} p99 ${p99.toFixed(0)} ` +
      `longest ${Math.max(...delays).toFixed(0)} ms`,
  );
  return {
    name: `watch.delay.${place}`,
    value: round(p99 / periodMs),
    unit: "p99 in periods of 1 s",
    target: "",
    baseline: "",
  };
}

/** The cost of one idle stream for each owner. */
export const watchUnits: Benchmark = {
  names: ["watch.read_units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const server = await stack.startServer();
      const watchers = startWatchers(server);
      const count = scale.pick(200, 20);
      const ms = scale.pick(20_000, 3_000);
      const streams: Watcher[] = [];
      for (let i = 0; i < count; i++) {
        streams.push(await watchOne(stack, server.channel, watchers, i));
      }
      await Promise.all(streams.map((stream) => stream.receivedAt(1)));
      await sleep(periodMs);
      const { usage, operations } = await stack.meter(() => sleep(ms));
      scale.note(`${count} watchers in ${ms} ms: ${JSON.stringify(operations)}`);
      watchers.stop();
      return [
        {
          name: "watch.read_units",
          value: round((usage.reads / count / ms) * 3_600_000),
          unit: "read units a watcher and hour",
          target: "",
          baseline: "",
        },
      ];
    }),
};

/** Opens the stream of an owner with one unread like. */
async function watchOne(
  stack: Stack,
  channel: Channel,
  { watch }: ReturnType<typeof startWatchers>,
  i: number,
): Promise<Watcher> {
  const liked = commentOf(i);
  await register(stack, liked);
  await like(channel, liked);
  return watch(liked.ownerId);
}
