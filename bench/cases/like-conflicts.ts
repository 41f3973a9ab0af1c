import type { Benchmark, Scale } from "../benchmark.ts";
import {
  commentOf,
  type Liked,
  like,
  markRead,
  register,
  unreadVersion,
} from "../support/likes.ts";
import { load } from "../support/load.ts";
import { median, percentile, round, sum } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import type { Channel } from "../support/rpc.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";

const callers = 64;
const counts = [1, 2, 4, 8];

/** What one number of processes did on one comment. */
interface Run {
  readonly processes: number;
  /** Likes a second. */
  readonly rate: number;
  /** Of likes and of what the owner asked. */
  readonly longestMs: number;
  readonly errors: number;
}

/** One hot comment on several processes, with an owner who keeps reading what there is. */
export const likeConflicts: Benchmark = {
  names: [
    "like.conflicts.rate_4_over_1",
    "like.conflicts.rate_2_over_1",
    "like.conflicts.rate_8_over_1",
    "like.conflicts.longest_wait",
    "like.conflicts.errors",
  ],
  run: (scale) =>
    withStack({}, async (stack) => {
      const hot = commentOf(1);
      await register(stack, hot);
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      const runs: Run[] = [];
      try {
        const servers: ServerProcess[] = [];
        for (let i = 0; i < Math.max(...counts); i++) {
          servers.push(await stack.startServer({ dynamoEndpoint: proxy.endpoint }));
        }
        for (let turn = 0; turn < scale.pick(3, 1); turn++) {
          for (const count of counts) runs.push(await run(scale, servers.slice(0, count), hot));
        }
      } finally {
        await proxy.stop();
      }
      return results(runs);
    }),
};

async function run(scale: Scale, servers: readonly ServerProcess[], hot: Liked): Promise<Run> {
  const processes = servers.length;
  const channelOf = (n: number) => (servers[n % processes] as ServerProcess).channel;
  const times = { warmMs: scale.pick(2_000, 500), ms: scale.pick(10_000, 1_500) };
  const [likes, marks] = await Promise.all([
    load({ ...times, callers, call: (caller) => like(channelOf(caller), hot) }),
    load({ ...times, callers: 1, call: reading(channelOf, hot) }),
  ]);
  const both = [...likes.latencies, ...marks.latencies];
  const longestMs = Math.max(...both);
  const errors = likes.errors + marks.errors;
  const tell = (ms: readonly number[]) =>
    `p50 ${percentile(ms, 0.5).toFixed(0)} p99 ${percentile(ms, 0.99).toFixed(0)} ms`;
  scale.note(
    `${processes} processes: ${likes.rate.toFixed(0)} likes/s, ${tell(likes.latencies)}; ` +
      `the owner's calls ${marks.rate.toFixed(0)}/s, ${tell(marks.latencies)}; ` +
      `longest ${longestMs.toFixed(0)} ms, errors ${errors} ` +
      `${errors > 0 ? (likes.error ?? marks.error) : ""}`,
  );
  return { processes, rate: likes.rate, longestMs, errors };
}

/** The owner's calls, each to the next process: one asks what is unread, the next marks it. */
function reading(channelOf: (n: number) => Channel, hot: Liked) {
  let seen: bigint | undefined;
  return async (_: number, n: number): Promise<void> => {
    const version = seen;
    seen = undefined;
    if (version) await markRead(channelOf(n), hot, version);
    else seen = await unreadVersion(channelOf(n), hot);
  };
}

function results(runs: readonly Run[]) {
  const rate = (processes: number) =>
    median(runs.filter((one) => one.processes === processes).map((one) => one.rate));
  const over = (processes: number, target: string) => ({
    name: `like.conflicts.rate_${processes}_over_1`,
    value: round(rate(processes) / rate(1)),
    unit: "ratio of rates",
    target,
    baseline: "the same on one process",
  });
  return [
    over(4, ">= 0.3"),
    over(2, ""),
    over(8, ""),
    {
      name: "like.conflicts.longest_wait",
      value: round(Math.max(...runs.map((one) => one.longestMs)) / 1_000),
      unit: "s, of any call on 1 to 8 processes",
      target: "<= 5",
      baseline: "",
    },
    {
      name: "like.conflicts.errors",
      value: sum(runs.map((one) => one.errors)),
      unit: "calls refused on 1 to 8 processes",
      target: "<= 0",
      baseline: "",
    },
  ];
}
