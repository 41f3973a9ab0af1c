/** A client that reserves grants and moves, changes and cancels them, often when they are due. */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Reservation,
  Reservation_StateSchema as StateSchema,
} from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import type { Calls } from "../calls.ts";
import type {
  Attempt,
  ReservationAnswer,
  ReservationRecord,
  ReservationRequest,
  Sent,
} from "../record.ts";
import { accounts } from "./points.ts";

/** The most open reservations of a client, which it changes in random order. */
const mostOpen = 8;
const pauseMs = 600;
const hourMs = 3_600_000;

type Open = ReservationRecord & { readonly sent: Sent<ReservationRequest, ReservationAnswer>[] };

/** Creates and changes reservations until it shall stop. */
export async function reserve(
  calls: Calls,
  name: string,
  records: ReservationRecord[],
): Promise<void> {
  const { random, over } = calls;
  const open: Open[] = [];
  for (let i = 0; !over.aborted; i++) {
    if (open.length < mostOpen && random() < 0.6) {
      const userId = `user-${Math.floor(random() * accounts)}`;
      const points = randomPoints(calls);
      const record: Open = { id: `${name}-${i}`, userId, points, sent: [] };
      records.push(record);
      // Some wait for an hour unless they are moved or cancelled.
      const inMs = random() < 0.2 ? hourMs : soonMs(calls);
      const created = await change(calls, record, { op: "create", executeTime: Date.now() + inMs });
      if (created) open.push(record);
    } else if (open.length > 0) {
      const at = Math.floor(random() * open.length);
      const isLeft = await changeOne(calls, open[at] as Open);
      if (!isLeft) open.splice(at, 1);
    }
    await calls.pause(pauseMs);
  }
}

const randomPoints = ({ random }: Calls): number => 1 + Math.floor(random() * 50);

/** At once, or within ten seconds. */
const soonMs = ({ random }: Calls): number => Math.floor(random() * 10_500 - 500);

/** Changes a reservation, cancels it, or leaves it to its time. Returns whether it may go on. */
async function changeOne(calls: Calls, record: Open): Promise<boolean> {
  const drawn = calls.random();
  const isFar = record.sent.some(
    ({ request }) => "executeTime" in request && request.executeTime > Date.now() + hourMs / 2,
  );
  if (drawn < 0.25 && !isFar) return false;
  if (drawn < 0.5) {
    await change(calls, record, { op: "cancel" });
    return false;
  }
  if (drawn < 0.7) {
    const points = randomPoints(calls);
    return (await change(calls, record, { op: "points", points })) !== undefined;
  }
  const executeTime = Date.now() + soonMs(calls);
  return (await change(calls, record, { op: "move", executeTime })) !== undefined;
}

function change(calls: Calls, record: Open, request: ReservationRequest) {
  const attempts: Attempt<ReservationAnswer>[] = [];
  record.sent.push({ request, attempts });
  const { id: reservationId, userId, points } = record;
  return calls.send(attempts, async ({ reservations }) => {
    if (request.op === "cancel") {
      return answerOf((await reservations.cancelReservation({ reservationId })).reservation);
    }
    if (request.op === "points") {
      const changed = { reservationId, points: BigInt(request.points) };
      return answerOf((await reservations.changeReservationPoints(changed)).reservation);
    }
    const executeTime = timestampFromMs(request.executeTime);
    const moved = { reservationId, executeTime };
    if (request.op === "move") {
      return answerOf((await reservations.rescheduleReservation(moved)).reservation);
    }
    const created = { ...moved, userId, points: BigInt(points) };
    return answerOf((await reservations.createReservation(created)).reservation);
  });
}

const answerOf = (reservation: Reservation | undefined): ReservationAnswer => ({
  state: StateSchema.value[reservation?.state ?? 0]?.localName ?? "",
  points: Number(reservation?.points),
  executeTime: reservation?.executeTime ? timestampMs(reservation.executeTime) : 0,
});
