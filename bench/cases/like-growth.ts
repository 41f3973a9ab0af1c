/** Measures whether the cost of likes and read marks grows with the number of likers. */
import type { ReactionState } from "../../src/feed/rules/reaction.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { compare, compareUnits, growthResults } from "../support/compare.ts";
import { inboxSeeds, seedLikers } from "../support/likers.ts";
import {
  commentOf,
  type Liked,
  like,
  markRead,
  newPerson,
  readUnread,
  unlike,
} from "../support/likes.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { median, sum } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { seed } from "../support/seed.ts";

const few = 10;

/** How many people react after the version of the first read mark. */
const newcomers = 3;

/** A comment with many or few likers. */
interface Side extends Liked {
  readonly likers: number;
  /** The records of the comment after the last like. */
  readonly state: ReactionState;
}

type Sides = readonly [few: Side, many: Side];

/**
 * The cost of a like on a comment with many likers, and of its owner's calls that list the
 * notification and mark it as read, over the same with few likers.
 */
export const likeGrowth: Benchmark = {
  names: ["like.growth", "like.growth.units", "unread.growth", "unread.growth.units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const short = await seeded(stack, commentOf(1), few);
      const long = await seeded(stack, commentOf(2), scale.pick(100_000, 1_000));
      // Timed calls do not pass the proxy of this process.
      const { channel } = await stack.startServer({ dynamoEndpoint: stack.dynamo.endpoint });
      const metered = await stack.startServer();
      const sides: Sides = [short, long];
      const liking = await likes(scale, channel, sides);
      const reading = await unread(stack, scale, channel, sides);
      const readingUnits = await unreadUnits(stack, metered.channel, sides);
      // Last, because these likes stay, and the seeded groups of the readers have no such members.
      const likingUnits = await likeUnits(stack, metered.channel, sides);
      const baseline = `the same with ${few} likers`;
      return [
        ...growthResults("like.growth", baseline, { latency: liking, units: likingUnits }),
        ...growthResults("unread.growth", baseline, { latency: reading, units: readingUnits }),
      ];
    }),
};

/** A comment with so many likers, all of them unread. */
async function seeded(stack: MeteredStack, liked: Liked, likers: number): Promise<Side> {
  return { ...liked, likers, state: await seedLikers(stack, liked, likers) };
}

/** Each like is deleted again, so that the number of likers stays the same. */
function likes(scale: Scale, channel: Channel, sides: Sides) {
  const rounds = { all: scale.pick(700, 40), first: scale.pick(200, 10) };
  return compare(scale, "like", rounds, sides, async (side) => {
    const person = newPerson();
    const sent = performance.now();
    await like(channel, side, person);
    const took = performance.now() - sent;
    await unlike(channel, side, person);
    return took;
  });
}

const likeUnits = (stack: MeteredStack, channel: Channel, sides: Sides) =>
  compareUnits(sides, async (side) => {
    // The meter needs a first like to have the items that the measured one replaces.
    await stack.meter(() => like(channel, side));
    const { usage } = await stack.meter(() => like(channel, side));
    return usage.reads + usage.writes;
  });

/**
 * Lists the notification, marks it as read except for the last three people, and then marks the
 * rest. An owner can do that only once, so each round has an owner of its own with the same inbox.
 */
async function unread(stack: MeteredStack, scale: Scale, channel: Channel, sides: Sides) {
  const rounds = { all: scale.pick(200, 20), first: scale.pick(50, 5) };
  for (let n = 0; n < rounds.all; n++) {
    for (const side of sides) await seed(stack, inboxSeeds(readerOf(side, n), side.state));
  }
  const steps = new Map<Side, number[][]>(sides.map((side) => [side, []]));
  const ratio = await compare(scale, "unread", rounds, sides, async (side, n) => {
    const took = await readAndMark(channel, { ...side, ownerId: readerOf(side, n) });
    steps.get(side)?.push(took);
    return sum(took);
  });
  for (const side of sides) {
    const all = (steps.get(side) ?? []).slice(rounds.first);
    const each = [0, 1, 2].map((i) => median(all.map((took) => took[i] ?? 0)).toFixed(2));
    scale.note(
      `unread, ${side.likers} likers: list ${each[0]}, split ${each[1]}, mark ${each[2]} ms`,
    );
  }
  return ratio;
}

const readerOf = ({ likers }: Side, n: number) => `reader-${likers}-${n}`;

/** Returns the duration of each step in ms. */
async function readAndMark(channel: Channel, side: Side): Promise<number[]> {
  const { version } = side.state.inbox;
  const took: number[] = [];
  for (const step of [
    () => readUnread(channel, side),
    () => markRead(channel, side, BigInt(version - newcomers)),
    () => markRead(channel, side, BigInt(version), version - newcomers + 1),
  ]) {
    const sent = performance.now();
    await step();
    took.push(performance.now() - sent);
  }
  return took;
}

const unreadUnits = (stack: MeteredStack, channel: Channel, sides: Sides) =>
  compareUnits(sides, async (side) => {
    const reader = { ...side, ownerId: readerOf(side, -1) };
    await seed(stack, inboxSeeds(reader.ownerId, side.state));
    const { usage } = await stack.meter(() => readAndMark(channel, reader));
    return usage.reads + usage.writes;
  });
