/** Measures what calls notice of a month end, a bulk grant and a burst of reservations at once. */
import { setTimeout as sleep } from "node:timers/promises";
import { latenessOf } from "../../src/domain/reservation.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { bulkCalls } from "../support/bulk.ts";
import { balance, grant, type Reserved, reserve, userName } from "../support/calls.ts";
import { commentOf, type Liked, like, register } from "../support/likes.ts";
import { byTurns, inParallel, load } from "../support/load.ts";
import { residentKb } from "../support/memory.ts";
import { expectNoneDue, runMonthEnd, seedMonthEnd } from "../support/month-ends.ts";
import { percentile, round, sum } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";

const callers = 16;
const users = 1_000;
const comments = 200;

/** Users of rows and of reservations have numbers from these on; callers have the numbers below. */
const firstRow = 1_000_000;
const firstReserved = 2_000_000;

/**
 * Accounts of so many shards are due. A worker expires 8 of a shard at a time, and 128 of all 16
 * would wait for each other in the emulator, which commits one transaction after another.
 */
const shards = 2;

const kinds = ["grant", "balance", "like"] as const;
type Kind = (typeof kinds)[number];

/** The calls of one kind by number. */
type Calls = Readonly<Record<Kind, (n: number) => Promise<void>>>;

/** What runs beside the calls. */
interface Work {
  readonly accounts: number;
  readonly rows: number;
  readonly reservations: number;
}

/**
 * Grants, balances and likes arrive at half of the rate that one server reaches, whether or not
 * earlier ones are answered: without anything else, and by turns while a month end, a bulk grant
 * and reservations that are due at once run on one worker.
 */
export const hardHour: Benchmark = {
  names: [
    ...kinds.map((kind) => `hard_hour.${kind}.p99`),
    "hard_hour.errors",
    "hard_hour.lateness",
    "hard_hour.memory.server",
    "hard_hour.memory.worker",
  ],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      const calls = await callsOf(stack, server);
      const perSecond = await peakOf(scale, calls);
      // Besides the calls, the emulator has to take the rows.
      const rowsPerSecond = Math.ceil(perSecond / 4);
      const worker = await stack.startWorker({
        env: { MEGURI_BULK_ROWS_PER_SECOND: String(rowsPerSecond) },
      });
      const neighbours = neighboursOf(stack, server, scale);
      const kilobytes = async () => {
        await sleep(scale.pick(20_000, 1_000));
        return { server: await residentKb(server.pid), worker: await residentKb(worker.pid) };
      };
      const ms = scale.pick(150_000, 8_000);
      const few = { accounts: 10, rows: 100, reservations: 20 };
      const rows = rowsPerSecond * 100;
      const work = scale.pick({ accounts: 1_000, rows, reservations: 500 }, few);
      const hour = openLoop(scale, calls, perSecond / 2 / kinds.length);
      // All reservations, which fill the worker's cache of workflows.
      const first = { ...few, reservations: work.reservations };
      await neighbours.run("warm", first, () => hour.run("warm", scale.pick(20_000, 3_000)));
      const before = await kilobytes();
      const alone: number[] = [];
      const late: number[] = [];
      await byTurns(
        scale.pick(2, 1),
        () => hour.run("quiet", ms),
        async (turn) => {
          const hard = () => hour.run("hard", ms);
          late.push(...(await neighbours.run(`hard-${turn}`, work, hard)));
          const onlyReservations = { ...work, accounts: 0, rows: 0 };
          const nothing = async () => {};
          alone.push(...(await neighbours.run(`alone-${turn}`, onlyReservations, nothing)));
        },
      );
      const after = await kilobytes();
      scale.note(`peak ${round(perSecond)} calls/s; lateness alone ${spread(alone)}`);
      scale.note(`lateness beside the rest ${spread(late)}`);
      scale.note(`resident KB before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
      return results(scale, hour, { late, alone }, { before, after });
    }),
};

/** Many accounts, and comments of as many owners, so that no key is hot. */
async function callsOf(stack: Stack, { channel }: ServerProcess): Promise<Calls> {
  const liked = Array.from({ length: comments }, (_, i) => commentOf(i));
  await inParallel(8, liked, (one) => register(stack, one));
  return {
    grant: (n) => grant(channel, userName(n % users)),
    balance: (n) => balance(channel, userName(n % users)),
    like: (n) => like(channel, liked[n % comments] as Liked),
  };
}

/** The calls a second, of all kinds in turn, that callers who wait for their answers reach. */
async function peakOf(scale: Scale, calls: Calls): Promise<number> {
  let count = 0;
  const { rate, errors, error } = await load({
    callers,
    warmMs: scale.pick(10_000, 1_000),
    ms: scale.pick(20_000, 2_000),
    call: () => calls[kinds[count++ % kinds.length] as Kind](count),
  });
  if (errors > 0) throw error;
  return rate;
}

/** The latencies, from the times at which calls were due, and the errors of runs by their label. */
function openLoop(scale: Scale, calls: Calls, perSecondOfEach: number) {
  const latencies = new Map<string, number[]>();
  const errors = new Map<string, number>();
  let sent = 0;
  return {
    latenciesOf: (label: string, kind: Kind) => latencies.get(`${label} ${kind}`) ?? [],
    errorsOf: (label: string) => errors.get(label) ?? 0,
    async run(label: string, ms: number): Promise<void> {
      const running = kinds.map((kind) => {
        const send = async () => {
          try {
            await calls[kind](sent++);
          } catch (error) {
            if (!errors.has(label)) scale.note(`the first error of ${label}, a ${kind}: ${error}`);
            errors.set(label, (errors.get(label) ?? 0) + 1);
          }
        };
        return { key: `${label} ${kind}`, arrivals: startArrivals(perSecondOfEach, send) };
      });
      await sleep(ms);
      const stopped = running.map(async ({ key, arrivals }) => {
        const { latencies: added } = await arrivals.stop();
        latencies.set(key, [...(latencies.get(key) ?? []), ...added]);
      });
      await Promise.all(stopped);
    },
  };
}

/** Prepares the month end, the bulk grant and the reservations, so that they begin together. */
function neighboursOf(stack: Stack, server: ServerProcess, scale: Scale) {
  const bulk = bulkCalls(stack, server);
  let reserved = 0;
  let rows = 0;
  return {
    /** Runs `meanwhile` beside them. Returns the lateness of the reservations, in ms. */
    async run(name: string, work: Work, meanwhile: () => Promise<void>): Promise<number[]> {
      if (work.accounts > 0) await seedMonthEnd(stack, name, work.accounts / shards, shards);
      const submitted =
        work.rows > 0 &&
        (await bulk.submit({ id: name, first: firstRow + rows, count: work.rows }));
      rows += work.rows;
      // Time enough to reserve all of them, and then to start the rest.
      const executeTime = Date.now() + 10_000 + work.reservations * 100;
      const due: Reserved[] = Array.from({ length: work.reservations }, (_, i) => ({
        id: `${name}-${i}`,
        userId: userName(firstReserved + reserved + i),
        executeTime,
      }));
      reserved += due.length;
      await inParallel(8, due, (one) => reserve(server.channel, one));
      const leftMs = executeTime - 5_000 - Date.now();
      if (leftMs < 0) scale.note(`${name}: the reservations were made late`);
      await sleep(Math.max(leftMs, 0));
      const start = performance.now();
      const seconds = () => round((performance.now() - start) / 1_000);
      const grantRows = async () => {
        if (!submitted) return 0;
        await bulk.approve(submitted);
        await bulk.done(name);
        return seconds();
      };
      const expire = async () => {
        if (work.accounts === 0) return 0;
        await runMonthEnd(stack, name);
        const taken = seconds();
        await expectNoneDue(stack, name);
        return taken;
      };
      const ids = due.map(({ id }) => id);
      const [monthEndSeconds, bulkSeconds] = await Promise.all([
        expire(),
        grantRows(),
        meanwhile(),
      ]);
      // Polling for results before the end would slow the measured calls down.
      await sleep(Math.max(executeTime + 15_000 - Date.now(), 0));
      const late = (await allDone(stack, ids, 120_000)).map(latenessOf);
      scale.note(`${name}: month end ${monthEndSeconds} s, bulk grant ${bulkSeconds} s`);
      return late;
    },
  };
}

interface Kilobytes {
  readonly server: number;
  readonly worker: number;
}

function results(
  scale: Scale,
  { latenciesOf, errorsOf }: ReturnType<typeof openLoop>,
  { late, alone }: { readonly late: readonly number[]; readonly alone: readonly number[] },
  { before, after }: { readonly before: Kilobytes; readonly after: Kilobytes },
): Result[] {
  const labels = ["hard", "quiet"] as const;
  const p99s = kinds.map((kind): Result => {
    const [hard, quiet] = labels.map((label) => {
      const latencies = latenciesOf(label, kind);
      scale.note(`${kind} ${label}: ${spread(latencies)}`);
      return percentile(latencies, 0.99);
    }) as [number, number];
    return {
      name: `hard_hour.${kind}.p99`,
      value: round(hard / quiet),
      unit: "ratio of p99 latencies at half of the peak",
      target: "",
      baseline: "the same arrivals alone",
    };
  });
  const memory = (["server", "worker"] as const).map(
    (name): Result => ({
      name: `hard_hour.memory.${name}`,
      value: round(after[name] / before[name]),
      unit: "ratio of resident memory, after over before",
      target: "",
      baseline: "the same process before",
    }),
  );
  return [
    ...p99s,
    {
      name: "hard_hour.errors",
      value: sum(labels.map(errorsOf)),
      unit: "failed calls",
      target: "<= 0",
      baseline: "",
    },
    {
      name: "hard_hour.lateness",
      value: round(percentile(late, 0.99) / percentile(alone, 0.99)),
      unit: "ratio of the p99 of lateness, 500 due at once",
      target: "",
      baseline: "the same reservations alone",
    },
    ...memory,
  ];
}

function spread(ms: readonly number[]): string {
  const shown = [0.5, 0.99, 1].map((share) => round(percentile(ms, share)));
  return `${ms.length}: p50, p99, most ${shown.join(", ")} ms`;
}
