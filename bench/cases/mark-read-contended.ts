/** Measures split read marks of a large group that another process keeps adding to. */
import { setTimeout as sleep } from "node:timers/promises";
import { inboxOf } from "../../src/app/notifications/inbox.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { likerName, seedLikers } from "../support/likers.ts";
import { commentOf, like, markRead, unlike } from "../support/likes.ts";
import { greatestOf, median, percentile } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import type { Channel } from "../support/rpc.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** People on both sides of the version up to which the owner marks, and what arrives meanwhile. */
interface Split {
  /** The end of the result's name; empty for the result with the target. */
  readonly end: string;
  readonly before: number;
  readonly newcomers: number;
  /** Likes and unlikes a second. An unlike is one of a newcomer. */
  readonly likes: number;
  readonly unlikes: number;
}

const few = { before: 8, newcomers: 15_000, unlikes: 0 };
const even = { before: 7_500, newcomers: 7_500, unlikes: 0 };

const splits: readonly Split[] = [
  ...[0, 10, 30].map((likes) => ({ ...few, end: `.likes_${likes}`, likes })),
  { ...few, end: "", likes: 60 },
  { ...few, end: ".unlikes", likes: 60, unlikes: 3 },
  { ...even, end: ".even", likes: 60 },
  { ...even, end: ".even.unlikes", likes: 60, unlikes: 3 },
];

/** How long likes arrive before the mark: until the key counts as contended in both processes. */
const warmMs = 1_500;

interface Servers {
  readonly liking: Channel;
  readonly marking: Channel;
}

/** The longest wait of a mark. A call that fails, and a wrong count, fail the benchmark. */
export const markReadContended: Benchmark = {
  names: splits.map(({ end }) => `mark_read.contended${end}`),
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      try {
        const options = { dynamoEndpoint: proxy.endpoint };
        const { channel: liking } = await stack.startServer(options);
        const { channel: marking } = await stack.startServer(options);
        const servers = { liking, marking };
        // The first mark of a process is not measured, because its code is still compiled.
        await markOnce(stack, servers, { ...few, end: "", newcomers: 200, likes: 10 });
        const results: Result[] = [];
        for (const split of splits) results.push(await measured(stack, scale, servers, split));
        return results;
      } finally {
        await proxy.stop();
      }
    }),
};

async function measured(
  stack: Stack,
  scale: Scale,
  servers: Servers,
  split: Split,
): Promise<Result> {
  const sizes = scale.pick(split, { ...split, newcomers: 500 });
  const marks: Mark[] = [];
  for (let i = 0; i < scale.pick(5, 1); i++) marks.push(await markOnce(stack, servers, sizes));
  const waits = marks.map(({ ms }) => ms);
  const latencies = marks.flatMap((mark) => mark.likeMs);
  const { end, before, newcomers, likes, unlikes } = split;
  scale.note(
    `${before} people before, ${newcomers} after, ${likes} likes/s sent, ${unlikes} unlikes/s: ` +
      `marked in ${waits.map((ms) => ms.toFixed(0)).join(" ")} ms; ` +
      `${median(marks.map(({ rate }) => rate)).toFixed(1)} likes/s answered, ` +
      `p50 ${percentile(latencies, 0.5).toFixed(0)}, ` +
      `longest ${percentile(latencies, 1).toFixed(0)} ms`,
  );
  const taken = unlikes > 0 ? ` and ${unlikes} unlikes` : "";
  return {
    name: `mark_read.contended${end}`,
    ...greatestOf(waits.map((ms) => ms / 1_000)),
    unit: `s, ${before} people before and ${newcomers} after, ${likes} likes${taken} a second`,
    target: end === "" ? "<= 1.5" : "",
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

/** Marks a new comment while likes of it arrive at the other process. */
async function markOnce(stack: Stack, servers: Servers, split: Split): Promise<Mark> {
  const { before, newcomers } = split;
  const liked = commentOf(++comments);
  await seedLikers(stack, liked, before + newcomers);
  const likes = startArrivals(split.likes, () => like(servers.liking, liked));
  // The first and the last ones are named in the record of the group, unlike most people.
  const unlikes = startArrivals(split.unlikes, (n) =>
    unlike(servers.liking, liked, likerName(before + 10 + n)),
  );
  await sleep(warmMs);
  const start = performance.now();
  await markRead(servers.marking, liked, BigInt(before));
  const ms = performance.now() - start;
  const { sent, rate, latencies } = await likes.stop();
  const taken = await unlikes.stop();
  const { actorCount } = await inboxOf(stack.deps, liked.ownerId);
  const expected = newcomers + sent - taken.sent;
  if (actorCount !== expected) throw new Error(`${actorCount} unread instead of ${expected}`);
  return { ms, rate, likeMs: latencies };
}
