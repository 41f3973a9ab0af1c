/** Reservations during an upgrade: created, moved and cancelled, and the check of the grants. */
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Meguri } from "@meguri/client";
import { expect } from "vitest";
import {
  type Reservation,
  Reservation_State as State,
} from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { eventually } from "../fixtures/waiting.ts";
import { inForm } from "../soak.ts";
import { ledgerOf } from "./points.ts";

/** What was acknowledged last of a reservation. */
export interface Reserved {
  readonly userId: string;
  readonly reservationId: string;
  /** In milliseconds; undefined for a cancelled one. */
  readonly executeTime: number | undefined;
}

const points = 7n;
export const hourMs = 3_600_000;
/**
 * A reservation is granted within a minute of its time, whatever happens to workers. In CI, whose
 * machine may be busy, it is granted at all.
 */
const mostLateMs = inForm({ short: Number.POSITIVE_INFINITY, long: 60_000 });
const pauseMs = 500;

/** Creates reservations one after the other; some are moved or cancelled. */
export async function callReservations(
  client: Meguri,
  name: string,
  isOver: () => boolean,
): Promise<Reserved[]> {
  const reserved: Reserved[] = [];
  for (let n = 0; !isOver(); n++) {
    const id = { userId: `reserved-${n % 3}`, reservationId: `${name}-${n}` };
    const isChanged = n % 4 > 1;
    const executeTime = Date.now() + (isChanged ? hourMs : 4_000 + 1_000 * (n % 20));
    await client.reservations.createReservation({
      ...{ ...id, points },
      executeTime: timestampFromMs(executeTime),
    });
    if (n % 4 === 2) reserved.push(await moveReservation(client, id));
    else if (n % 4 === 3) reserved.push(await cancelReservation(client, id));
    else reserved.push({ ...id, executeTime });
    await sleep(pauseMs);
  }
  return reserved;
}

/**
 * Creates reservations that sleep for an hour unless they are moved. Each is moved once, so that
 * its run has begun.
 */
export const createSleepers = (client: Meguri, count: number): Promise<Reserved[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const id = { userId: "sleeper", reservationId: `sleeper-${i}` };
      await client.reservations.createReservation({
        ...{ ...id, points },
        executeTime: timestampFromMs(Date.now() + 2 * hourMs),
      });
      return moveReservation(client, id, hourMs);
    }),
  );

type Id = Pick<Reserved, "userId" | "reservationId">;

/** Moves it, by default to a time that comes soon. */
export async function moveReservation(
  { reservations }: Meguri,
  { userId, reservationId }: Id,
  delayMs = 4_000,
): Promise<Reserved> {
  const executeTime = Date.now() + delayMs;
  await reservations.rescheduleReservation({
    reservationId,
    executeTime: timestampFromMs(executeTime),
  });
  return { userId, reservationId, executeTime };
}

export async function cancelReservation(
  { reservations }: Meguri,
  { userId, reservationId }: Id,
): Promise<Reserved> {
  await reservations.cancelReservation({ reservationId });
  return { userId, reservationId, executeTime: undefined };
}

/** Waits until the points are granted, and compares with what was acknowledged. */
export async function checkGranted(client: Meguri, reserved: Reserved): Promise<void> {
  const { reservationId, executeTime } = reserved;
  const { grantTime, lateness, ...found } = await eventually(async () => {
    const { reservation } = await client.reservations.getReservation({ reservationId });
    expect(reservation?.state).toBe(executeTime === undefined ? State.CANCELLED : State.DONE);
    return reservation as Reservation;
  });
  if (executeTime === undefined) return;
  expect(timestampMs(found.executeTime as never)).toBe(executeTime);
  expect(timestampMs(grantTime as never)).toBeGreaterThanOrEqual(executeTime);
  expect(durationMs(lateness as never)).toBeLessThan(mostLateMs);
}

/** Every reservation is granted once and on time, and a cancelled one never. */
export async function checkReservations(
  client: Meguri,
  reserved: readonly Reserved[],
): Promise<void> {
  await Promise.all(reserved.map((each) => checkGranted(client, each)));
  for (const [userId, own] of Map.groupBy(reserved, (each) => each.userId)) {
    const granted = own.filter(({ executeTime }) => executeTime !== undefined);
    const entries = await ledgerOf(client, userId);
    expect(entries.map(({ event }) => event?.eventId).sort()).toEqual(
      granted.map(({ reservationId }) => reservationId).sort(),
    );
    expect(entries.filter((entry) => entry.points !== points)).toEqual([]);
  }
}
