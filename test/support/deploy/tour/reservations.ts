/** Calls every RPC of reservations, and waits until some are granted. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect } from "vitest";
import { Reservation_State as State } from "../../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { eventually } from "../../fixtures/waiting.ts";
import type { TourClients } from "./called.ts";

const program = { programId: "default" };
const name = (reservationId: string) => ({ ...program, reservationId });
const changed = (reservationId: string) => ({ ...name(reservationId), reason: "r" });
const at = (ms: number) => timestampFromMs(Date.now() + ms);

export async function tourReservations({ points, reservations }: TourClients): Promise<void> {
  const later = { points: 5n, reason: "r", executeTime: at(3_600_000) };
  const create = (reservationId: string, userId: string, executeTime = later.executeTime) =>
    reservations.createReservation({ ...later, ...name(reservationId), userId, executeTime });
  const freeze = { ...program, userId: "dee", reason: "r" };
  await points.freezeAccount({ ...freeze, eventId: "z" });
  await create("soon", "bob", at(2_000));
  await create("refused", "dee", at(2_000));
  for (const id of ["a", "b"]) await create(id, "bob");
  const requests = ["c", "d"].map((id) => ({ ...later, reservationId: id, userId: "cem" }));
  await reservations.batchCreateReservations({ ...program, reservations: requests });
  const ofUser = { ...program, filter: { case: "userId" as const, value: "cem" } };
  await reservations.listReservations(ofUser);
  const pending = { case: "state" as const, value: State.PENDING };
  await reservations.listReservations({ ...program, filter: pending });
  await reservations.cancelReservation(changed("a"));
  await reservations.cancelReservations({ ...ofUser, reason: "r" });
  await reservations.changeReservationPoints({ ...changed("b"), points: 6n });
  await reservations.rescheduleReservation({ ...changed("b"), executeTime: at(4_000) });
  await reservations.pauseProgramReservations({ ...program, reason: "r" });
  await reservations.resumeProgramReservations({ ...program, reason: "r" });
  const isIn = (id: string, state: State) =>
    eventually(async () => {
      const { reservation } = await reservations.getReservation(name(id));
      expect(reservation?.state).toBe(state);
    });
  await isIn("soon", State.DONE);
  await isIn("refused", State.FAILED);
  await points.unfreezeAccount({ ...freeze, eventId: "y" });
  await reservations.retryReservation(changed("refused"));
  for (const id of ["refused", "b"]) await isIn(id, State.DONE);
}
