/** Measures split read marks of a large group that another process keeps adding to. */
import { setTimeout as sleep } from "node:timers/promises";
import { inboxOf } from "../../src/feed/use-cases/notifications/inbox.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { seedLikers } from "../support/likers.ts";
import { commentOf, like, markRead } from "../support/likes.ts";
import { greatestOf, median, percentile } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import type { Channel } from "../support/rpc.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** The people before and after the version up to which the owner marks. */
const before = 8;
const newcomers = 15_000;

/** Likes that arrive at the other process in a second. */
const likesPerSecond = 60;

/** How long likes arrive before the mark: until the key counts as contended in both processes. */
const warmMs = 1_500;

interface Servers {
  readonly liking: Channel;
  readonly marking: Channel;
}

/** The longest wait of a mark. A call that fails, and a wrong count, fail the benchmark. */
export const markReadContended: Benchmark = {
  names: ["mark_read.contended"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      try {
        const options = { dynamoEndpoint: proxy.endpoint };
        const { channel: liking } = await stack.startServer(options);
        const { channel: marking } = await stack.startServer(options);
        const servers = { liking, marking };
        // The first mark of a process is not measured, because its code is still compiled.
        await markOnce(stack, servers, 200);
        const marks: Mark[] = [];
        for (let i = 0; i < scale.pick(5, 1); i++) {
          marks.push(await markOnce(stack, servers, scale.pick(newcomers, 500)));
        }
        return [resultOf(scale, marks)];
      } finally {
        await proxy.stop();
      }
    }),
};

function resultOf(scale: Scale, marks: readonly Mark[]): Result {
  const waits = marks.map(({ ms }) => ms);
  const latencies = marks.flatMap((mark) => mark.likeMs);
  scale.note(
    `marked in ${waits.map((ms) => ms.toFixed(0)).join(" ")} ms; ` +
      `${median(marks.map(({ rate }) => rate)).toFixed(1)} likes/s answered, ` +
      `p50 ${percentile(latencies, 0.5).toFixed(0)}, ` +
      `longest ${percentile(latencies, 1).toFixed(0)} ms`,
  );
  return {
    name: "mark_read.contended",
    ...greatestOf(waits.map((ms) => ms / 1_000)),
    unit: `s, ${before} people before and ${newcomers} after, ${likesPerSecond} likes a second`,
    target: "<= 1.5",
    baseline: "",
  };
}

interface Mark {
  readonly ms: number;
  /** The rate and the latencies of the likes. */
  readonly rate: number;
  readonly likeMs: readonly number[];
}

let comments = 0;

/** Marks a new comment with so many newcomers while likes of it arrive at the other process. */
async function markOnce(stack: Stack, servers: Servers, after: number): Promise<Mark> {
  const liked = commentOf(++comments);
  await seedLikers(stack, liked, before + after);
  const likes = startArrivals(likesPerSecond, () => like(servers.liking, liked));
  await sleep(warmMs);
  const start = performance.now();
  await markRead(servers.marking, liked, BigInt(before));
  const ms = performance.now() - start;
  const { sent, rate, latencies } = await likes.stop();
  const { actorCount } = await inboxOf(stack.deps, liked.ownerId);
  const expected = after + sent;
  if (actorCount !== expected) throw new Error(`${actorCount} unread instead of ${expected}`);
  return { ms, rate, likeMs: latencies };
}
