/** Measures how late grants are beside those of the previous version, and beside creations. */
import pRetry from "p-retry";
import { reservationWorkflowId } from "../../src/contract/reservations.ts";
import type { Version } from "../../test/support/upgrade/versions.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { type Arrivals, startArrivals } from "../support/arrivals.ts";
import { reserve, userName } from "../support/calls.ts";
import { byTurns, inParallel } from "../support/load.ts";
import { percentile, ratioByTurns, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { previousVersion, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** So many that the p99 of a turn is not decided by two of them. */
const perSecond = 20;
const dayMs = 86_400_000;

/** Callers that create reservations, each as soon as its last one is answered, for their rate. */
const creators = 8;

/** The lateness of this version over that of the previous one, on a stack each. */
export const reservationLatenessTurns: Benchmark = {
  names: ["reservation.lateness_p99"],
  run: (scale) =>
    withLateness(scale, undefined, (present) =>
      withLateness(scale, previousVersion(), async (previous) => [
        await compared(
          scale,
          { name: "reservation.lateness_p99", target: "<= 1.1", baseline: "the previous version" },
          [() => present("alone"), () => previous("alone")],
        ),
      ]),
    ),
};

/** The lateness beside creations at half the rate that a worker keeps up with, over that alone. */
export const reservationUnderCreations: Benchmark = {
  names: ["reservation.under_creations"],
  run: (scale) =>
    withLateness(scale, undefined, async (present) => [
      await compared(
        scale,
        {
          name: "reservation.under_creations",
          target: "<= 2",
          baseline: "the same reservations without creations",
        },
        [() => present("creating"), () => present("alone")],
      ),
    ]),
};

type Turn = () => Promise<number[]>;

/** The p99 of the first over that of the second, by turns. */
async function compared(
  scale: Scale,
  named: { readonly name: string; readonly target: string; readonly baseline: string },
  [first, second]: readonly [Turn, Turn],
) {
  const { a, b } = await byTurns(scale.pick(3, 1), first, second);
  const show = (late: readonly number[]) =>
    [0.5, 0.95, 0.99, 1].map((share) => percentile(late, share)).join(", ");
  scale.note(`p50, p95, p99, most in ms: ${show(a.flat())}; baseline: ${show(b.flat())}`);
  const value = round(percentile(a.flat(), 0.99) / percentile(b.flat(), 0.99));
  const p99s = (turns: readonly number[][]) => turns.map((late) => percentile(late, 0.99));
  const { turns } = ratioByTurns(p99s(a), p99s(b));
  return { ...named, value, turns, unit: "ratio of the p99 of lateness" };
}

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

type Measure = (way: "alone" | "creating") => Promise<number[]>;

/** Runs `use` with a stack of a version that has one worker. */
async function withLateness<T>(
  scale: Scale,
  given: Promise<Version> | undefined,
  use: (measure: Measure) => Promise<T>,
): Promise<T> {
  const processes = { ...(given && { version: await given }) };
  return withStack({ temporal: true }, async (stack) => {
    const server = await stack.startServer(processes);
    await stack.startWorker(processes);
    const seconds = scale.pick(40, 5);
    let turn = 0;

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
    const rate = await rateOf(stack, scale.pick(2_000, 200), create);
    scale.note(`workers keep up with ${round(rate)} creations a second`);
    return use(async (way) => {
      turn += 1;
      const from = Date.now() + scale.pick(20_000, 6_000);
      const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
        id: `due-${turn}-${i}`,
        userId: `due-${turn}-${userName(i)}`,
        executeTime: from + (i * 1_000) / perSecond,
      }));
      let creating: Arrivals | undefined;
      const late = await latenessWhile(stack, server, all, async () => {
        if (way === "creating") creating = startArrivals(rate / 2, create);
      });
      await creating?.stop();
      return late;
    });
  });
}
