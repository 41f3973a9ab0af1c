/** Measures how late grants are beside creations, and beside those of the previous version. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Version } from "../../test/support/upgrade/versions.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { byTurns } from "../support/load.ts";
import { percentile, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { previousVersion, withStack } from "../support/stack.ts";

const perSecond = 5;
const dayMs = 86_400_000;

/** Callers that create reservations, each as soon as its last one is answered. */
const creators = 16;

/** The p99 of lateness, by turns with the previous version and with and without creations. */
export const reservationLatenessTurns: Benchmark = {
  names: ["reservation.lateness_p99", "reservation.under_creations"],
  run: (scale) =>
    withLateness(scale, undefined, (present) =>
      withLateness(scale, previousVersion(), async (previous) => {
        const turns = scale.pick(3, 1);
        const versions = await byTurns(
          turns,
          () => present("alone"),
          () => previous("alone"),
        );
        const creations = await byTurns(
          turns,
          () => present("creating"),
          () => previous("creating"),
        );
        const [ours, theirs] = [versions.a.flat(), versions.b.flat()];
        const [oursBeside, theirsBeside] = [creations.a.flat(), creations.b.flat()];
        const show = (late: readonly number[]) =>
          [0.5, 0.95, 0.99, 1].map((share) => percentile(late, share)).join(", ");
        scale.note(`lateness p50, p95, p99, most in ms: ${show(ours)}; before: ${show(theirs)}`);
        scale.note(`beside creations: ${show(oursBeside)}; before: ${show(theirsBeside)}`);
        const ratio = (a: readonly number[], b: readonly number[]) =>
          round(percentile(a, 0.99) / percentile(b, 0.99));
        const unit = "ratio of the p99 of lateness";
        return [
          {
            name: "reservation.lateness_p99",
            value: ratio(ours, theirs),
            unit,
            target: "<= 1.1",
            baseline: "the previous version",
          },
          {
            name: "reservation.under_creations",
            value: ratio(oursBeside, ours),
            unit,
            target: "<= 2",
            baseline: "the same reservations without creations",
          },
        ];
      }),
    ),
};

type Measure = (way: "alone" | "creating") => Promise<number[]>;

/** Runs `use` with a stack of a version that has one worker. */
async function withLateness<T>(
  scale: Scale,
  given: Promise<Version> | undefined,
  use: (measure: Measure) => Promise<T>,
): Promise<T> {
  const version = await given;
  return withStack({ temporal: true }, async (stack) => {
    const processes = { ...(version && { version }) };
    const server = await stack.startServer(processes);
    await stack.startWorker(processes);
    const seconds = scale.pick(40, 5);
    let reserved = 0;
    let created = 0;

    async function createUntil(end: number): Promise<void> {
      while (Date.now() < end) {
        const id = `later-${++created}`;
        const executeTime = Date.now() + 30 * dayMs;
        await reserve(server.channel, { id, userId: userName(created), executeTime });
      }
    }

    return use(async (way) => {
      const from = Date.now() + scale.pick(20_000, 6_000);
      const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
        id: `due-${reserved + i}`,
        userId: `due-${userName(reserved + i)}`,
        executeTime: from + (i * 1_000) / perSecond,
      }));
      reserved += all.length;
      const end = from + seconds * 1_000;
      const before = created;
      let creating: Promise<unknown> = Promise.resolve();
      const late = await latenessWhile(stack, server, all, async () => {
        if (way === "alone") return;
        creating = Promise.all(Array.from({ length: creators }, () => createUntil(end)));
        // Those that are under way when the measurement ends are none of it.
        creating.catch(() => {});
      });
      await creating;
      if (way === "creating") {
        scale.note(`${round((created - before) / seconds)} creations a second`);
        // Their runs start before the next turn.
        await sleep(scale.pick(10_000, 1_000));
      }
      return late;
    });
  });
}
