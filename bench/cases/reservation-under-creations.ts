/** Measures how late grants are while reservations are created, over how late they are alone. */
import pRetry from "p-retry";
import { reservationWorkflowId } from "../../src/contract/reservations.ts";
import type { Benchmark } from "../benchmark.ts";
import { type Arrivals, startArrivals } from "../support/arrivals.ts";
import { reserve, userName } from "../support/calls.ts";
import { byTurns, inParallel } from "../support/load.ts";
import { percentile, ratioByTurns, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** So many that the p99 of a turn is not decided by two of them. */
const perSecond = 20;
const dayMs = 86_400_000;

/** Callers that create reservations, each as soon as its last one is answered, for their rate. */
const creators = 8;

/** The lateness beside creations at half the rate that a worker keeps up with, over that alone. */
export const reservationUnderCreations: Benchmark = {
  names: ["reservation.under_creations"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();

      let created = 0;
      const create: Create = async () => {
        created += 1;
        const id = `later-${created}`;
        const executeTime = Date.now() + 30 * dayMs;
        await reserve(server.channel, { id, userId: id, executeTime });
        return id;
      };

      // The first requests are slower than later ones.
      await rateOf(stack, scale.pick(1_000, 100), create);
      const rate = await rateOf(stack, scale.pick(1_500, 200), create);
      scale.note(`workers keep up with ${round(rate)} creations a second`);

      let turn = 0;
      const lateness = async (onDue: () => Promise<void>): Promise<number[]> => {
        turn += 1;
        const from = Date.now() + scale.pick(15_000, 6_000);
        const all = Array.from({ length: perSecond * scale.pick(30, 5) }, (_, i) => ({
          id: `due-${turn}-${i}`,
          userId: `due-${turn}-${userName(i)}`,
          executeTime: from + (i * 1_000) / perSecond,
        }));
        return latenessWhile(stack, server, all, onDue);
      };
      const besideCreations = async () => {
        let creating: Arrivals | undefined;
        const late = await lateness(async () => {
          creating = startArrivals(rate / 2, create);
        });
        await creating?.stop();
        return late;
      };

      const { a, b } = await byTurns(scale.pick(3, 1), besideCreations, () =>
        lateness(async () => {}),
      );
      const show = (late: readonly number[]) =>
        [0.5, 0.95, 0.99, 1].map((share) => percentile(late, share)).join(", ");
      scale.note(`p50, p95, p99, most in ms: ${show(a.flat())}; alone: ${show(b.flat())}`);
      const p99 = (late: readonly number[]) => percentile(late, 0.99);
      return [
        {
          name: "reservation.under_creations",
          value: round(p99(a.flat()) / p99(b.flat())),
          turns: ratioByTurns(a.map(p99), b.map(p99)).turns,
          unit: "ratio of the p99 of lateness",
          target: "<= 2",
          baseline: "the same reservations without creations",
        },
      ];
    }),
};

/** Creates a reservation that is due in a month. Returns its id. */
type Create = () => Promise<string>;

/** How many reservations a second are created until a worker has done the first task of each. */
async function rateOf(stack: Stack, count: number, create: Create): Promise<number> {
  const start = performance.now();
  await inParallel(creators, Array.from({ length: count - 1 }), create);
  await firstTaskDone(stack, await create());
  return (count * 1_000) / (performance.now() - start);
}

/** Waits for the first task of a run, which workers do after those of the runs before it. */
const firstTaskDone = (stack: Stack, id: string): Promise<void> =>
  withTemporalClient(stack, async ({ workflow }) => {
    const handle = workflow.getHandle(reservationWorkflowId("default", id));
    const find = async () => {
      const { events } = await handle.fetchHistory();
      const done = events?.some((event) => event.workflowTaskCompletedEventAttributes);
      if (!done) throw new Error("workers are still behind with runs that were started");
    };
    await pRetry(find, { retries: 600, minTimeout: 200, factor: 1 });
  });
