/** Measures the commits of a mark-all whose groups all have a newcomer. */
import { setTimeout as sleep } from "node:timers/promises";
import { startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import {
  commentOf,
  type Liked,
  like,
  markAllRead,
  register,
  unreadVersion,
} from "../support/likes.ts";
import { inParallel } from "../support/load.ts";
import { greatestOf } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import type { Channel } from "../support/rpc.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** Likes a second that arrive at another process meanwhile, by round, and for how long before. */
const unmeasured = [10, 10];
const measured = [10, 10, 10, 10, 0];
const warmMs = 1_500;

/** The commits of one mark-all, and the longest wait of a like meanwhile. */
interface MarkAll {
  readonly groups: number;
  readonly commits: number;
  readonly longestMs: number;
}

/**
 * Both processes reach the store through the locking proxy; the one that marks has a proxy of its
 * own in front of it, which counts its transactions, the cancelled ones included.
 */
export const markAllCommits: Benchmark = {
  names: ["mark_all.commits", "mark_all.commits.like_wait"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const locking = await startLockingProxy(stack.dynamo.endpoint);
      const counting = await startDynamoProxy({ upstream: locking.endpoint });
      try {
        const liking = await stack.startServer({ dynamoEndpoint: locking.endpoint });
        const marking = await stack.startServer({ dynamoEndpoint: counting.endpoint });
        const runs: MarkAll[] = [];
        // The first rounds are not measured, because the emulator's compiler is still at work.
        const rates = scale.pick([...unmeasured, ...measured], [0, 10]);
        for (const [round, rate] of rates.entries()) {
          const comments = await prepare(stack, liking.channel, round, scale.pick(300, 60));
          const commits = () => counting.stats().requests.TransactWriteItems ?? 0;
          const channels = { liking: liking.channel, marking: marking.channel };
          counting.resetStats();
          runs.push(await markAll(scale, channels, comments, rate, commits));
        }
        return results(runs.slice(-measured.length));
      } finally {
        await counting.stop();
        await locking.stop();
      }
    }),
};

/** Comments of one owner with a like each. */
async function prepare(
  stack: Stack,
  channel: Channel,
  round: number,
  groups: number,
): Promise<Liked[]> {
  const comments = Array.from({ length: groups }, (_, i) => ({
    target: commentOf(round * groups + i).target,
    ownerId: `owner-${round}`,
  }));
  await inParallel(16, comments, (comment) => register(stack, comment));
  await inParallel(64, comments, (comment) => like(channel, comment));
  return comments;
}

/** Marks what the owner has seen after the first like of each comment. */
async function markAll(
  scale: Scale,
  { liking, marking }: { readonly liking: Channel; readonly marking: Channel },
  comments: readonly Liked[],
  likeRate: number,
  commits: () => number,
): Promise<MarkAll> {
  const groups = comments.length;
  const first = comments[0] as Liked;
  const seen = await unreadVersion(liking, first);
  await inParallel(64, comments, (comment) => like(liking, comment));
  const startLikes = () =>
    startArrivals(likeRate, (n) => like(liking, comments[n % groups] as Liked));
  const warm = startLikes();
  await sleep(warmMs);
  const before = await warm.stop();
  const likes = startLikes();
  const start = performance.now();
  const marked = await markAllRead(marking, first.ownerId, seen);
  const took = performance.now() - start;
  const count = commits();
  const meanwhile = await likes.stop();
  if (marked !== groups) throw new Error(`${marked} of ${groups} groups were marked`);
  const longestMs = Math.max(0, ...meanwhile.latencies);
  scale.note(
    `${groups} groups in ${count} commits and ${took.toFixed(0)} ms; longest of ` +
      `${meanwhile.sent} likes meanwhile ${longestMs.toFixed(0)} ms, ` +
      `of ${before.sent} before ${Math.max(0, ...before.latencies).toFixed(0)} ms`,
  );
  return { groups, commits: count, longestMs };
}

const results = (runs: readonly MarkAll[]) => [
  {
    name: "mark_all.commits",
    ...greatestOf(runs.map(({ commits, groups }) => (100 * commits) / groups)),
    unit: "commits for 100 groups with a newcomer each",
    target: "<= 10",
    baseline: "a commit for each group: 100",
  },
  {
    name: "mark_all.commits.like_wait",
    ...greatestOf(runs.map(({ longestMs }) => longestMs)),
    unit: "ms, of a like to the owner at another process meanwhile",
    target: "<= 250",
    baseline: "",
  },
];
