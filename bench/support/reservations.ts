/** Reserves, waits until reservations are granted, and measures how late they were. */
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import { latenessOf, type Reservation } from "../../src/reservations/rules/reservation.ts";
import { type Reserved, reserve } from "./calls.ts";
import { inParallel } from "./load.ts";
import type { ServerProcess, Stack } from "./stack.ts";

/**
 * Reserves all of them, which are due one after another, and calls `onDue` soon before the first
 * one is due. Returns how late they were, in ms.
 */
export async function latenessWhile(
  stack: Stack,
  { channel }: ServerProcess,
  all: readonly Reserved[],
  onDue: () => Promise<void>,
): Promise<number[]> {
  const times = all.map(({ executeTime }) => executeTime);
  // A call that gets no answer may be sent again: an id reserves once.
  await inParallel(8, all, (one) => pRetry(() => reserve(channel, one)));
  await sleep(Math.max(Math.min(...times) - 2_000 - Date.now(), 0));
  await onDue();
  // Polling for results would delay the measured grants.
  await sleep(Math.max(Math.max(...times) - Date.now(), 0));
  const ids = all.map(({ id }) => id);
  return (await allDone(stack, ids, 60_000)).map(latenessOf);
}

/**
 * Waits until all reservations are granted. Returns their records. Reads one after another and
 * waits for each, because many reads would take the time of the grants that are not made yet.
 */
export async function allDone(
  { deps }: Stack,
  ids: readonly string[],
  limitMs: number,
): Promise<Reservation[]> {
  const limit = performance.now() + limitMs;
  const done: Reservation[] = [];
  for (const id of ids) {
    for (;;) {
      const reservation = (await deps.reader.get(reservationRef("default", id)))?.value;
      if (reservation?.state === "DONE") {
        done.push(reservation);
        break;
      }
      if (performance.now() > limit) throw new Error(`${id} was not granted in time`);
      await sleep(500);
    }
  }
  return done;
}
