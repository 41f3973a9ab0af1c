/** Measures likes of one comment by several processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { callers, conflictsOf, rates, times, waits } from "../support/conflicts.ts";
import { seedLikers } from "../support/likers.ts";
import {
  commentOf,
  type Liked,
  like,
  markLine,
  markRead,
  register,
  type UnreadLine,
  unreadLine,
} from "../support/likes.ts";
import { load } from "../support/load.ts";
import { percentile } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import type { ServerProcess } from "../support/stack.ts";

const hot = commentOf(1);

/** Another comment of the same owner, with many unread likes. */
const long = { ...commentOf(2), ownerId: hot.ownerId };
const before = 8;
const newcomers = 15_000;

/** How many of the newcomers each run marks as read: the last one has some left. */
const marked = 1_000;
let runs = 0;

/**
 * One contended comment whose owner continuously marks its notification as read, and in each run
 * marks the earliest likes of another comment, which splits a large group.
 */
export const likeConflicts = conflictsOf({
  name: "like.conflicts",
  async prepare(stack) {
    await seedLikers(stack, long, before + newcomers);
    await register(stack, hot);
  },
  results: { ...rates, ...waits },
  async run(scale, servers) {
    const processes = servers.length;
    const channelOf = (n: number) => (servers[n % processes] as ServerProcess).channel;
    const both = times(scale);
    let splitError: unknown;
    const split = async () => {
      await sleep(both.warmMs);
      const sent = performance.now();
      const version = before + marked * runs++;
      const generation = runs === 1 ? 1 : version - marked + 1;
      const marking = channelOf(processes - 1);
      await markRead(marking, long, BigInt(version), generation).catch((error) => {
        splitError = error;
      });
      return performance.now() - sent;
    };
    const [likes, marks, splitMs] = await Promise.all([
      load({ ...both, callers, call: (caller) => like(channelOf(caller), hot) }),
      load({ ...both, callers: 1, call: reading(channelOf, hot) }),
      split(),
    ]);
    const longestMs = Math.max(...likes.latencies, ...marks.latencies, splitMs);
    const errors = likes.errors + marks.errors + (splitError ? 1 : 0);
    const format = (ms: readonly number[]) =>
      `p50 ${percentile(ms, 0.5).toFixed(0)} p99 ${percentile(ms, 0.99).toFixed(0)} ms`;
    scale.note(
      `${processes} processes: ${likes.rate.toFixed(0)} likes/s, ${format(likes.latencies)}; ` +
        `the owner's calls ${marks.rate.toFixed(0)}/s, ${format(marks.latencies)}; ` +
        `a split ${splitMs.toFixed(0)} ms; longest ${longestMs.toFixed(0)} ms, errors ${errors} ` +
        `${errors > 0 ? (likes.error ?? marks.error ?? splitError) : ""}`,
    );
    return { rate: likes.rate, longestMs, errors };
  },
});

/** The owner's calls, each to the next process: reads the unread line, then marks it as read. */
function reading(channelOf: (n: number) => Channel, hot: Liked) {
  let unread: UnreadLine | undefined;
  return async (_: number, n: number): Promise<void> => {
    const line = unread;
    unread = undefined;
    if (line) await markLine(channelOf(n), hot, line);
    else unread = await unreadLine(channelOf(n), hot);
  };
}
