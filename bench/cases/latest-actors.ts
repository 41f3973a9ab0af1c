/** Counts the queries of a feed page that shows the latest people of each kind of its posts. */
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import {
  commentOf,
  type Liked,
  like,
  newPerson,
  register,
  summaries,
  unlike,
} from "../support/likes.ts";
import { inParallel } from "../support/load.ts";
import { withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";

const posts = 50;
const kinds = ["like", "love", "wow"];

/** How many people react with each kind before one of the latest takes the reaction back. */
const people = 5;

/** Posts with three kinds of reactions; of half of them one of the latest people has left. */
export const latestActors: Benchmark = {
  names: ["recent.queries", "recent.queries.long_ids"],
  run: async (scale) => [
    await measure(scale, "recent.queries", newPerson),
    await measure(scale, "recent.queries.long_ids", () => newPerson().padEnd(64, "x")),
  ],
};

const measure = (scale: Scale, name: string, person: () => string): Promise<Result> =>
  withMeteredStack(async (stack) => {
    const { channel } = await stack.startServer();
    const feed = Array.from({ length: posts }, (_, i) => commentOf(i));
    await stack.meter(() =>
      inParallel(8, [...feed.entries()], async ([i, post]) => {
        await register(stack, post);
        for (const kind of kinds) await reactAll(channel, post, kind, person, i % 2 === 0);
      }),
    );
    const { operations, usage } = await stack.meter(() =>
      summaries(channel, feed, newPerson(), true),
    );
    scale.note(`${name}: ${JSON.stringify(operations)}, ${usage.reads} read units`);
    return {
      name,
      value: round((operations.Query ?? 0) / posts),
      unit: "queries a post with three kinds",
      target: "<= 1",
      baseline: "one for each kind: 3",
      counted: true,
    };
  });

async function reactAll(
  channel: Channel,
  post: Liked,
  kind: string,
  person: () => string,
  leaves: boolean,
) {
  const all = Array.from({ length: people }, person);
  for (const userId of all) await like(channel, post, userId, kind);
  if (leaves) await unlike(channel, post, all[people - 1] as string, kind);
}
