/** Measures the delay of announced unread counts, and what quiet streams of counts cost. */
import { setTimeout as sleep } from "node:timers/promises";
import { startRedis } from "../../test/support/servers/redis.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { commentOf, type Liked, like, register } from "../support/likes.ts";
import { withMeteredStack } from "../support/metered.ts";
import { percentile, round, sum } from "../support/numbers.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";
import { startWatchers, type Watchers } from "../support/watchers.ts";

/** About the time between two polls of an active owner. */
const periodMs = 1_000;

/** About the time between two polls of an owner that has been quiet for `quietAfterMs`. */
const quietPeriodMs = 5_000;
const quietAfterMs = 55_000;

/** How long after its opening a stream relies on announcements. */
const caughtUpMs = 5_000;

/** Runs `use` with the variables of servers that announce their commits by a Redis server. */
async function withRedis<T>(use: (env: Readonly<Record<string, string>>) => Promise<T>) {
  const redis = await startRedis();
  try {
    return await use({ MEGURI_ANNOUNCE_URL: `redis://127.0.0.1:${redis.port}` });
  } finally {
    await redis.stop();
  }
}

/**
 * The time from the answer to a like to the new count on a stream of another server, when both
 * servers announce their commits: of owners who are liked now and then.
 */
export const watchPush: Benchmark = {
  names: ["watch.push.p99"],
  run: (scale) =>
    withRedis((env) =>
      withStack({}, async (stack) => {
        const here = await stack.startServer({ env });
        const there = startWatchers(await stack.startServer({ env }));
        const [count, rounds] = scale.pick([100, 15], [5, 2]);
        const owners = Array.from({ length: count }, (_, i) => commentOf(i));
        for (const liked of owners) await register(stack, liked);
        const delays: number[] = [];
        const likeOften = async (liked: Liked) => {
          const stream = there.watch(liked.ownerId);
          await stream.receivedAt(0);
          await sleep(scale.pick(caughtUpMs, 100));
          for (let people = 1; people <= rounds; people++) {
            await sleep(2 * periodMs * Math.random());
            await like(here.channel, liked);
            const answered = performance.now();
            delays.push(Math.max(0, (await stream.receivedAt(people)) - answered));
          }
        };
        await Promise.all(owners.map(likeOften));
        there.stop();
        const [p50, p99] = [0.5, 0.99].map((share) => percentile(delays, share));
        scale.note(`${delays.length} likes, p50 ${round(p50 as number)} ms`);
        const value = round((p99 as number) / 1_000);
        return [{ name: "watch.push.p99", value, unit: "s", target: "<= 0.2", baseline: "" }];
      }),
    ),
};

const hourMs = 3_600_000;

/** A stream lasts half an hour, so an hour has two openings. */
const openings = 2;

/** How one measurement of quiet watchers differs from the other. */
interface QuietWatch {
  readonly name: string;
  readonly target: string;
  /** How long later polls are metered: some times the time between two. */
  readonly laterMs: number;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The cost of one stream for each owner that stays quiet: of a server that polls, and of one that
 * gets announcements and polls once a minute. Both mostly wait, so they run at the same time.
 */
export const watchUnits: Benchmark = {
  names: ["watch.read_units", "watch.quiet_units"],
  run: (scale) => {
    const polls = { name: "watch.read_units", target: "<= 400", laterMs: 6 * quietPeriodMs };
    const announced = { name: "watch.quiet_units", target: "<= 40", laterMs: 60_000 };
    return Promise.all([
      quietUnits(scale, { ...polls, env: {} }),
      withRedis((env) => quietUnits(scale, { ...announced, env })),
    ]);
  },
};

/**
 * Polls are more frequent at first, so two times are metered: the opening with the first minute,
 * and some polls later. An hour has two openings; the remaining time costs what the later polls
 * cost.
 */
function quietUnits(scale: Scale, { name, target, env, ...quiet }: QuietWatch) {
  return withMeteredStack(async (stack): Promise<Result> => {
    const server = await stack.startServer({ env });
    const watchers = startWatchers(server);
    const count = scale.pick(200, 20);
    const owners = Array.from({ length: count }, (_, i) => commentOf(i));
    for (const liked of owners) await likeOnce(stack, server, liked);
    let openMs: readonly number[] = [];
    const first = await stack.meter(async () => {
      openMs = await openAll(owners, watchers, scale.pick(quietAfterMs, 3_000));
    });
    const laterMs = scale.pick(quiet.laterMs, 3_000);
    const later = await stack.meter(() => sleep(laterMs));
    watchers.stop();
    const firstUnits = first.usage.reads / count;
    const firstMs = sum(openMs) / count;
    const unitsPerMs = later.usage.reads / count / laterMs;
    scale.note(
      `${count} watchers: ${firstUnits.toFixed(1)} units in the first ${round(firstMs)} ms, ` +
        `then ${(unitsPerMs * laterMs).toFixed(2)} in ${laterMs} ms ` +
        `(${JSON.stringify(later.operations)})`,
    );
    const value = round(openings * firstUnits + (hourMs - openings * firstMs) * unitsPerMs);
    return { name, value, unit: "read units a quiet watcher and hour", target, baseline: "" };
  });
}

async function likeOnce(stack: Stack, { channel }: ServerProcess, liked: Liked): Promise<void> {
  await register(stack, liked);
  await like(channel, liked);
}

/**
 * Opens a stream of each owner, spread over one period of polls, so that the polls are not in step.
 * Returns for how long each has been open when the last one has been open for `ms`.
 */
async function openAll(
  owners: readonly Liked[],
  { watch }: Watchers,
  ms: number,
): Promise<readonly number[]> {
  const openedAt = await Promise.all(
    owners.map(async ({ ownerId }) => {
      await sleep(quietPeriodMs * Math.random());
      return watch(ownerId).receivedAt(1);
    }),
  );
  await sleep(ms);
  const now = performance.now();
  return openedAt.map((at) => now - at);
}
