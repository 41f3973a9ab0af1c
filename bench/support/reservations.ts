/** Waits until reservations are granted. */
import { setTimeout as sleep } from "node:timers/promises";
import { reservationRef } from "../../src/app/ports/records.ts";
import type { Reservation } from "../../src/domain/reservation.ts";
import { inParallel } from "./load.ts";
import type { Stack } from "./stack.ts";

/** Waits until all reservations are granted. Returns their records. */
export async function allDone(
  { deps }: Stack,
  ids: readonly string[],
  limitMs: number,
): Promise<Reservation[]> {
  const limit = performance.now() + limitMs;
  const done = new Map<string, Reservation>();
  for (;;) {
    const left = ids.filter((id) => !done.has(id));
    await inParallel(8, left, async (id) => {
      const reservation = (await deps.reader.get(reservationRef("default", id)))?.value;
      if (reservation?.state === "DONE") done.set(id, reservation);
    });
    if (done.size === ids.length) return [...done.values()];
    if (performance.now() > limit) {
      throw new Error(`${ids.length - done.size} reservations were not granted in time`);
    }
    await sleep(500);
  }
}
