/** Runs reservations that one way or another grants when they are due. */
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { asService } from "../../src/platform/words/caller.ts";
import { reservationLead } from "../../src/reservations/contract/reservations.ts";
import { latenessOf } from "../../src/reservations/rules/reservation.ts";
import { createReservation } from "../../src/reservations/use-cases/commands.ts";
import type { Scale } from "../benchmark.ts";
import { type Reserved, reserve, userName } from "./calls.ts";
import { cpuSecondsOf } from "./cpu.ts";
import { inParallel } from "./load.ts";
import { percentile } from "./numbers.ts";
import { allDone } from "./reservations.ts";
import type { Stack } from "./stack.ts";

/** A way to reserve points and to grant them when they are due. */
export interface Way {
  reserve(one: Reserved): Promise<unknown>;
  /** Waits until all are granted. Returns how late each of them was, in ms. */
  lateness(ids: readonly string[]): Promise<readonly number[]>;
  /** The CPU time so far of the processes that wait for the time and grant, in seconds. */
  cpuSeconds(): Promise<number>;
}

/** Reservations that were granted. */
interface Granted {
  /** How late each of them was, in ms. */
  readonly late: readonly number[];
  /** The CPU time of a reservation, in ms. */
  readonly cpuMs: number;
}

/** Reservations that are due after one another, `apartMs` apart; 0 for a burst. */
export interface Due {
  readonly name: string;
  readonly count: number;
  readonly apartMs: number;
}

/** How long the last of a burst is waited for. */
export const limitMs = 120_000;

/** A server, a worker and Temporal: as production runs it. */
export async function temporalWay(stack: Stack): Promise<Way> {
  const { channel } = await stack.startServer();
  const worker = await stack.startWorker();
  return {
    reserve: (one) => reserve(channel, one),
    lateness: async (ids) => (await allDone(stack, ids, limitMs)).map(latenessOf),
    cpuSeconds: () => cpuSecondsOf([worker.pid, stack.temporalPid ?? 0]),
  };
}

/** A process that scans for due rows each second, on a stack without Temporal. */
export async function scannerWay(stack: Stack): Promise<Way> {
  const scanner = await stack.startWorker({ entry: "bench/baselines/polling-scanner.ts" });
  return {
    reserve: ({ id: reservationId, userId, executeTime }) =>
      createReservation(stack.deps, {
        ...{ programId: "default", reservationId, userId, executeTime },
        ...{ points: 5, reason: "bench", caller: asService("bench") },
      }),
    lateness: async (ids) => (await allDone(stack, ids, limitMs)).map(latenessOf),
    cpuSeconds: () => cpuSecondsOf([scanner.pid]),
  };
}

/**
 * Reserved so long before, as most are: otherwise the burst would wait for the start of its runs,
 * which `reservation.under_creations` measures.
 */
const aheadMs = reservationLead.mostMs + 30_000;

/**
 * Reserves, and waits until all is granted. The first one is due half a second after a full second:
 * half of the scanner's period, its mean, before its tick.
 */
export async function grantDue(
  way: Way,
  scale: Scale,
  { name, count, apartMs }: Due,
): Promise<Granted> {
  const start = Math.ceil((Date.now() + scale.pick(aheadMs, 3_000)) / 1_000) * 1_000 + 500;
  const all = Array.from({ length: count }, (_, i) => ({
    id: `${name}-${i}`,
    userId: `${name}-${userName(i)}`,
    executeTime: start + i * apartMs,
  }));
  const before = await way.cpuSeconds();
  // A call that gets no answer may be sent again: an id reserves once.
  await inParallel(16, all, (one) => pRetry(() => way.reserve(one)));
  if (Date.now() > start) scale.note(`${name}: the first was due before all were reserved`);
  await sleep(Math.max(start + count * apartMs - Date.now(), 0));
  const late = await way.lateness(all.map(({ id }) => id));
  const cpuMs = ((await way.cpuSeconds()) - before) * (1_000 / count);
  const ms = [0.1, 0.5, 0.95, 0.99, 1].map((share) => Math.round(percentile(late, share)));
  scale.note(`${name}: ${ms} ms late (p10, p50, p95, p99, last), CPU ${cpuMs.toFixed(2)} ms each`);
  return { late, cpuMs };
}
