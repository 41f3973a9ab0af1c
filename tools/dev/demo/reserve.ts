/** Reserves grants and kills the worker before they are due, to show that none is lost. */
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { Reservation_State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import type { Embedded } from "./embedded.ts";
import { programId } from "./play.ts";
import { timesInLedger } from "./times-in-ledger.ts";

/** The result of the reserved grants. */
interface Landed {
  readonly reserved: number;
  /** The reservations whose points are in the ledger exactly once. */
  readonly once: number;
  readonly maxLatenessMs: number;
}

const points = 100n;
const patienceMs = 60_000;

/**
 * Reserves a grant for each user, kills the worker while the workflows sleep, starts it again after
 * the execute time, and counts the grants in the ledgers.
 */
export async function reserveAndKill(
  stack: Embedded,
  userIds: readonly string[],
  say: (line: string) => void,
): Promise<Landed> {
  const executeTime = Date.now() + 6_000;
  const at = new Date(executeTime).toISOString();
  await Promise.all(
    userIds.map((userId) =>
      stack.reservations.createReservation({
        programId,
        reservationId: reservationIdOf(userId),
        userId,
        points,
        reason: "birthday",
        executeTime: timestampFromMs(executeTime),
      }),
    ),
  );
  say(`${userIds.length} grants of ${points} points reserved for ${at}`);
  await sleep(1_000);
  await stack.killWorker();
  say("worker killed (SIGKILL) while the workflows sleep");
  await sleep(Math.max(0, executeTime + 1_000 - Date.now()));
  say("the execute time has passed, and no worker runs");
  const pid = await stack.restartWorker();
  say(`worker started again, process id ${pid}`);
  const landed = await Promise.all(userIds.map((userId) => waitFor(stack, userId)));
  return {
    reserved: userIds.length,
    once: landed.filter(({ times }) => times === 1).length,
    maxLatenessMs: Math.max(...landed.map(({ latenessMs }) => latenessMs)),
  };
}

async function waitFor(stack: Embedded, userId: string) {
  const limit = Date.now() + patienceMs;
  for (;;) {
    const name = { programId, reservationId: reservationIdOf(userId) };
    const { reservation } = await stack.reservations.getReservation(name);
    if (reservation?.state === Reservation_State.DONE) {
      const latenessMs = reservation.lateness ? durationMs(reservation.lateness) : 0;
      return { times: await timesInLedger(stack, userId, EventOrigin.RESERVATION), latenessMs };
    }
    if (Date.now() > limit) throw new Error(`the reservation of ${userId} did not land`);
    await sleep(200);
  }
}

export const reservationIdOf = (userId: string): string => `birthday-${userId}`;
