/** Measures how late grants are: alone, beside creations, and beside a bulk grant. */
import pRetry from "p-retry";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { bulkCalls } from "../support/bulk.ts";
import { reserve, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { ofTurns, percentile, ratioByTurns, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** So many that the p99 of a turn is not decided by two of them. */
const perSecond = 20;
const dayMs = 86_400_000;

/** Callers that create reservations, each as soon as its last one is answered, for their rate. */
const creators = 8;

/** More rows a second than a worker executes by default, so that a run outlasts its turn. */
const rowsPerSecond = 110;

const ways = ["alone", "creating", "granting"] as const;
type Way = (typeof ways)[number];

/** The lateness in ms of all reservations of a turn, by way and turn. */
type Turns = Readonly<Record<Way, number[][]>>;

/**
 * Reservations that are due one after another: without other work, while others are created at half
 * the rate that a server keeps up with, and while a bulk grant runs at the default row rate.
 */
export const reservationLateness: Benchmark = {
  names: ["reservation.lateness", "reservation.under_creations", "reservation.under_bulk"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const create = creatorOf(server);
      // The first requests are slower than later ones.
      await rateOf(stack, scale.pick(600, 100), create);
      const rate = await rateOf(stack, scale.pick(1_000, 200), create);
      scale.note(`the server keeps up with ${round(rate)} creations a second`);
      const latenessOf = turnsOf(stack, server, scale, () => startArrivals(rate / 2, create));
      const late: Turns = { alone: [], creating: [], granting: [] };
      for (let turn = 0; turn < scale.pick(2, 1); turn++) {
        for (const way of turn % 2 === 0 ? ways : ways.toReversed()) {
          late[way].push(await latenessOf(way));
        }
      }
      return results(scale, late);
    }),
};

/** Creates a reservation that is due in a month. Returns its id. */
type Create = () => Promise<string>;

function creatorOf({ channel }: ServerProcess): Create {
  let created = 0;
  return async () => {
    created += 1;
    const id = `later-${created}`;
    const executeTime = Date.now() + 30 * dayMs;
    await pRetry(() => reserve(channel, { id, userId: id, executeTime }));
    return id;
  };
}

/** How many reservations a second are created and have their runs started. */
async function rateOf(stack: Stack, count: number, create: Create): Promise<number> {
  const start = performance.now();
  await inParallel(creators, Array.from({ length: count - 1 }), create);
  await isStarted(stack, await create());
  return (count * 1_000) / (performance.now() - start);
}

/** Waits for the start of a run, which the server makes after those of the runs before it. */
const isStarted = (stack: Stack, id: string): Promise<void> =>
  withTemporalClient(stack, async ({ workflow }) => {
    const handle = workflow.getHandle(reservationWorkflowId("default", id));
    await pRetry(() => handle.describe(), { retries: 600, minTimeout: 200, factor: 1 });
  });

/** Returns a function that plays a turn. Other work begins soon before the first one is due. */
function turnsOf(
  stack: Stack,
  server: ServerProcess,
  scale: Scale,
  startCreations: () => ReturnType<typeof startArrivals>,
) {
  const bulk = bulkCalls(stack, server);
  const seconds = scale.pick(20, 5);
  const rows = (seconds + 5) * rowsPerSecond;
  let turns = 0;

  const lateness = (begin: () => Promise<void>): Promise<number[]> => {
    const turn = turns++;
    const from = Date.now() + scale.pick(12_000, 6_000);
    const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
      id: `due-${turn}-${i}`,
      userId: `due-${turn}-${userName(i)}`,
      executeTime: from + (i * 1_000) / perSecond,
    }));
    return latenessWhile(stack, server, all, begin);
  };

  return async (way: Way): Promise<number[]> => {
    if (way === "alone") return lateness(async () => {});
    if (way === "granting") {
      const id = `beside-${turns}`;
      const submitted = await bulk.submit({ id, first: turns * rows, count: rows });
      const late = await lateness(() => bulk.approve(submitted));
      await bulk.done(id);
      return late;
    }
    let creations: ReturnType<typeof startArrivals> | undefined;
    const late = await lateness(async () => {
      creations = startCreations();
    });
    await creations?.stop();
    return late;
  };
}

function results(scale: Scale, late: Turns): Result[] {
  for (const way of ways) {
    const shown = [0.5, 0.95, 0.99, 1].map((share) => percentile(late[way].flat(), share));
    scale.note(`${way}: p50, p95, p99, most ${shown.join(", ")} ms`);
  }
  const p99s = (way: Way) => late[way].map((one) => percentile(one, 0.99));
  const beside = {
    unit: "ratio of the p99 of lateness",
    target: "<= 2",
    baseline: "the same reservations without other work",
  };
  return [
    {
      name: "reservation.lateness",
      ...ofTurns(p99s("alone")),
      unit: `ms, p99, ${perSecond} due a second`,
      target: "<= 150",
      baseline: "",
    },
    {
      name: "reservation.under_creations",
      ...ratioByTurns(p99s("creating"), p99s("alone")),
      ...beside,
    },
    { name: "reservation.under_bulk", ...ratioByTurns(p99s("granting"), p99s("alone")), ...beside },
  ];
}
