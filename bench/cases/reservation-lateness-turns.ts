/** Measures how late grants are beside those of the previous version, and beside creations. */
import pRetry from "p-retry";
import { reservationWorkflowId } from "../../src/contract/reservations.ts";
import type { Version } from "../../test/support/upgrade/versions.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { percentile, ratioByTurns, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { previousVersion, type ServerProcess, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const perSecond = 5;
const dayMs = 86_400_000;

/** Callers that create reservations, each as soon as its last one is answered. */
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

/** The lateness while others are created as fast as they can be, over that without. */
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

/** Waits for the first task of a run that is started now: workers then have no older ones left. */
async function firstTaskDone(stack: Stack, { channel }: ServerProcess, id: string): Promise<void> {
  await reserve(channel, { id, userId: id, executeTime: Date.now() + 30 * dayMs });
  await withTemporalClient(stack, async ({ workflow }) => {
    const handle = workflow.getHandle(reservationWorkflowId("default", id));
    const find = async () => {
      const { events } = await handle.fetchHistory();
      const done = events?.some((event) => event.workflowTaskCompletedEventAttributes);
      if (!done) throw new Error("workers are still behind with runs that were started");
    };
    await pRetry(find, { retries: 240, minTimeout: 1_000, factor: 1 });
  });
}

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

    const create = async (ms: number) => {
      const executeTime = Date.now() + 30 * dayMs;
      const { rate, errors } = await load({
        callers: creators,
        call: (caller, n) =>
          reserve(server.channel, {
            ...{ id: `later-${turn}-${caller}-${n}`, executeTime },
            userId: `later-${caller}-${userName(n)}`,
          }),
        warmMs: 0,
        ms,
      });
      scale.note(`${round(rate)} creations a second, ${errors} errors`);
      await firstTaskDone(stack, server, `last-${turn}`);
    };

    // First requests are slower than later ones.
    await create(scale.pick(5_000, 3_000));
    return use(async (way) => {
      turn += 1;
      const from = Date.now() + scale.pick(20_000, 6_000);
      const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
        id: `due-${turn}-${i}`,
        userId: `due-${turn}-${userName(i)}`,
        executeTime: from + (i * 1_000) / perSecond,
      }));
      let creating: Promise<void> | undefined;
      const late = await latenessWhile(stack, server, all, async () => {
        if (way === "creating") creating = create(seconds * 1_000);
      });
      await creating;
      return late;
    });
  });
}
