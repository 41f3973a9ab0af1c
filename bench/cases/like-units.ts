/** Measures the capacity units and requests of calls to reactions and notifications. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Result } from "../benchmark.ts";
import {
  commentOf,
  type Liked,
  like,
  markRead,
  mute,
  register,
  summaries,
} from "../support/likes.ts";
import { inParallel } from "../support/load.ts";
import { type Metered, type MeteredStack, withMeteredStack } from "../support/metered.ts";
import type { Channel } from "../support/rpc.ts";

const calls = 20;

/** Longer than a process keeps records that it has committed. */
const coldMs = 1_500;

/** The cost of single calls in capacity units and in requests to the store. */
export const likeCosts: Benchmark = {
  names: [
    "like.write_units",
    "like.write_units.muted",
    "like.write_units.own",
    "like.round_trips",
    "like.round_trips.cold",
    "like.round_trips.first",
    "mark_read.write_units",
    "mark_read.write_units.split",
    "summaries.read_units",
  ],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const { channel } = await stack.startServer();
      const comments = Array.from({ length: calls }, (_, i) => commentOf(i));
      for (const comment of comments) await register(stack, comment);
      const each = (call: (comment: Liked) => Promise<void>) =>
        stack.meter(() => inParallel(1, comments, call));
      const first = await each((comment) => like(channel, comment));
      const busy = await each((comment) => like(channel, comment));
      await sleep(coldMs);
      const cold = await each((comment) => like(channel, comment));
      // Every owner has seen all three.
      const whole = await each((comment) => markRead(channel, comment, 3n));
      for (let i = 0; i < 3; i++) await each((comment) => like(channel, comment));
      // Those three have the numbers 5 to 7, and the owner has seen two of them.
      const split = await each((comment) => markRead(channel, comment, 6n, 5));
      scale.note(`whole: ${JSON.stringify(whole)}, split: ${JSON.stringify(split)}`);
      const own = await each((comment) => like(channel, comment, comment.ownerId));
      for (const comment of comments) await mute(channel, comment);
      const muted = await each((comment) => like(channel, comment));
      return [
        units("like.write_units", busy, "the plain way, one transaction a like: the same", "<= 12"),
        units("like.write_units.muted", muted, "", "<= 11"),
        units("like.write_units.own", own, "", "<= 11"),
        trips("like.round_trips", busy),
        trips("like.round_trips.cold", cold),
        trips("like.round_trips.first", first),
        units("mark_read.write_units", whole, ""),
        units("mark_read.write_units.split", split, ""),
        await summaryUnits(stack, channel),
      ];
    }),
};

/** A hundred comments with likers, of which the viewer likes every second one. */
async function summaryUnits(stack: MeteredStack, channel: Channel): Promise<Result> {
  const viewerId = "viewer-0000001";
  const comments = Array.from({ length: 100 }, (_, i) => commentOf(1_000 + i));
  for (const [i, comment] of comments.entries()) {
    await register(stack, comment);
    await like(channel, comment);
    if (i % 2 === 0) await like(channel, comment, viewerId);
  }
  const { usage } = await stack.meter(() => summaries(channel, comments, viewerId));
  return {
    name: "summaries.read_units",
    value: usage.reads,
    unit: "read units for 100 targets and a viewer",
    target: "",
    baseline: "counts on the target and a row for each like: the same",
    counted: true,
  };
}

const count = (
  name: string,
  value: number,
  unit: string,
  baseline: string,
  target = "",
): Result => ({
  name,
  value,
  unit: `${unit} a call`,
  target,
  baseline,
  counted: true,
});

const units = (name: string, { usage }: Metered, baseline: string, target?: string) =>
  count(name, usage.writes / calls, "write units", baseline, target);

const trips = (name: string, { requests }: Metered) =>
  count(name, requests / calls, "requests to the store", "");
