/** Measures likes of one comment by several processes. */
import { callers, conflictsOf, rates, times, waits } from "../support/conflicts.ts";
import {
  commentOf,
  type Liked,
  like,
  markRead,
  register,
  unreadVersion,
} from "../support/likes.ts";
import { load } from "../support/load.ts";
import { percentile } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import type { ServerProcess } from "../support/stack.ts";

const hot = commentOf(1);

/** One contended comment whose owner continuously marks its notification as read. */
export const likeConflicts = conflictsOf({
  name: "like.conflicts",
  prepare: (stack) => register(stack, hot),
  results: { ...rates, ...waits },
  async run(scale, servers) {
    const processes = servers.length;
    const channelOf = (n: number) => (servers[n % processes] as ServerProcess).channel;
    const both = times(scale);
    const [likes, marks] = await Promise.all([
      load({ ...both, callers, call: (caller) => like(channelOf(caller), hot) }),
      load({ ...both, callers: 1, call: reading(channelOf, hot) }),
    ]);
    const longestMs = Math.max(...likes.latencies, ...marks.latencies);
    const errors = likes.errors + marks.errors;
    const format = (ms: readonly number[]) =>
      `p50 ${percentile(ms, 0.5).toFixed(0)} p99 ${percentile(ms, 0.99).toFixed(0)} ms`;
    scale.note(
      `${processes} processes: ${likes.rate.toFixed(0)} likes/s, ${format(likes.latencies)}; ` +
        `the owner's calls ${marks.rate.toFixed(0)}/s, ${format(marks.latencies)}; ` +
        `longest ${longestMs.toFixed(0)} ms, errors ${errors} ` +
        `${errors > 0 ? (likes.error ?? marks.error) : ""}`,
    );
    return { rate: likes.rate, longestMs, errors };
  },
});

/** The owner's calls, each to the next process: reads the unread count, then marks it as read. */
function reading(channelOf: (n: number) => Channel, hot: Liked) {
  let unread: bigint | undefined;
  return async (_: number, n: number): Promise<void> => {
    const version = unread;
    unread = undefined;
    if (version) await markRead(channelOf(n), hot, version);
    else unread = await unreadVersion(channelOf(n), hot);
  };
}
