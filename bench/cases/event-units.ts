/** Measures whether events cost more write units when their notification has many of them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Scale } from "../benchmark.ts";
import { compareUnits } from "../support/compare.ts";
import { commentOf, type Liked, newPerson, notify, register, retract } from "../support/likes.ts";
import { inParallel } from "../support/load.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import type { Channel } from "../support/rpc.ts";

const few = 10;
const callers = 64;

/** Longer than a query may miss an event, or find one that was taken back. */
const quietMs = 1_500;

/** A comment whose owner has a notification with these unread events, in the order of the calls. */
interface Side extends Liked {
  readonly eventIds: readonly string[];
}

/** The write units of an event, and of taking one back, in large notifications over small ones. */
export const eventUnits: Benchmark = {
  names: ["notify.write_units", "retract.write_units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const { channel } = await stack.startServer();
      const sides = [
        await seeded(stack, channel, commentOf(1), few),
        await seeded(stack, channel, commentOf(2), scale.pick(1_000, 60)),
      ] as const;
      await sleep(quietMs);
      const notifying = await compareUnits(sides, (side) =>
        metered(stack, scale, "notify", side, [() => notify(channel, side, "new", newPerson())]),
      );
      await sleep(quietMs);
      // The first and the latest event are shown by name, the one between them is not.
      const retracting = await compareUnits(sides, (side) => {
        const { eventIds } = side;
        const [first, middle] = [eventIds[0], eventIds[eventIds.length / 2]] as [string, string];
        const each = [first, middle, "new"].map((id) => () => retract(channel, side, id));
        return metered(stack, scale, "retract", side, each);
      });
      const baseline = `the same with ${few} events`;
      const ratio = {
        unit: "ratio of write units",
        target: "<= 1.1",
        baseline,
        counted: true,
      } as const;
      return [
        { name: "notify.write_units", value: notifying, ...ratio },
        { name: "retract.write_units", value: retracting, ...ratio },
      ];
    }),
};

/** Reports so many events of different people. The meter has to see every write. */
async function seeded(stack: MeteredStack, channel: Channel, liked: Liked, count: number) {
  const eventIds = Array.from({ length: count }, (_, i) => `event-${i}`);
  await stack.meter(async () => {
    await register(stack, liked);
    await inParallel(callers, eventIds, (id) => notify(channel, liked, id, newPerson()));
  });
  return { ...liked, eventIds };
}

/** Makes the calls one after another and returns the mean of their write units. */
async function metered(
  stack: MeteredStack,
  scale: Scale,
  what: string,
  { eventIds }: Side,
  calls: readonly (() => Promise<void>)[],
): Promise<number> {
  const { usage, operations } = await stack.meter(async () => {
    for (const call of calls) await call();
  });
  const units = usage.writes / calls.length;
  scale.note(`${what}, ${eventIds.length} events: ${units} units, ${JSON.stringify(operations)}`);
  return units;
}
