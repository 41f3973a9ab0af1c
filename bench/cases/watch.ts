import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { commentOf, like, register } from "../support/likes.ts";
import { withMeteredStack } from "../support/metered.ts";
import { percentile, round } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { type Stack, withStack } from "../support/stack.ts";
import { startWatchers, type Watcher } from "../support/watchers.ts";

/** How often a server looks at the inboxes of the owners that it watches. */
const periodMs = 1_000;

const places = ["same_process", "other_process"] as const;

/**
 * From the answer to a like to the count that it is pushed as, at a watcher on the process that was
 * told of the like and at one on another.
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
          const views = watchers.map(({ watch }) => watch(liked.ownerId));
          for (let people = 1; performance.now() < end; people++) {
            // At any moment of a period, and not in step with the other owners.
            await sleep(periodMs * Math.random());
            await like(here.channel, liked);
            const answered = performance.now();
            const heard = await Promise.all(views.map((view) => view.heardOf(people)));
            for (const [i, time] of heard.entries()) {
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

/** What it costs to watch owners, one watcher each, while nothing happens. */
export const watchUnits: Benchmark = {
  names: ["watch.read_units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const server = await stack.startServer();
      const watchers = startWatchers(server);
      const count = scale.pick(200, 20);
      const ms = scale.pick(20_000, 3_000);
      const views: Watcher[] = [];
      for (let i = 0; i < count; i++)
        views.push(await watchOne(stack, server.channel, watchers, i));
      await Promise.all(views.map((view) => view.heardOf(1)));
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

/** Watches an owner of whom one like is unread. */
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
