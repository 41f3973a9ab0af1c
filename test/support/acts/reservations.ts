/** The scenarios of the audited methods about reservations. */
import { failReservation } from "../fixtures/failed-reservation.ts";
import { at } from "../servers/refusal.ts";
import type { TestServer } from "../servers/server.ts";
import { changed, programId, reason, type Scenario } from "./scenario.ts";

const executeTime = at("2027-06-01T00:00:00Z");
const reservation = (reservationId: string) => ({ programId, reservationId });
const missing = reservation("missing");
const program = { objectType: "program", objectId: programId };

export function reservationScenarios(server: TestServer): Readonly<Record<string, Scenario>> {
  const reserve =
    (reservationId: string, userId = "reserver") =>
    () =>
      server.reservations.createReservation({
        ...reservation(reservationId),
        ...{ userId, points: 10n, executeTime },
      });
  return {
    CancelReservation: {
      prepare: reserve("r-cancel"),
      call: ({ reservations }, options) =>
        reservations.cancelReservation({ ...reservation("r-cancel"), reason }, options),
      refused: ({ reservations }) => reservations.cancelReservation(missing),
      act: {
        ...{ objectType: "reservation", objectId: "r-cancel", userId: "reserver", reason },
        changes: [changed("state", "PENDING", "CANCELLED")],
      },
    },
    CancelReservations: {
      prepare: async () => {
        for (const id of ["a", "b", "c"]) await reserve(`r-all-${id}`, "leaver")();
      },
      call: ({ reservations }, options) =>
        reservations.cancelReservations(
          { programId, filter: { case: "userId", value: "leaver" }, reason },
          options,
        ),
      refused: ({ reservations }) =>
        reservations.cancelReservations({
          programId: "none",
          filter: { case: "userId", value: "leaver" },
        }),
      act: {
        ...{ objectType: "reservations", objectId: "leaver", userId: "leaver", reason },
        changes: [changed("state", "", "CANCELLED")],
      },
    },
    RescheduleReservation: {
      prepare: reserve("r-move"),
      call: ({ reservations }, options) =>
        reservations.rescheduleReservation(
          { ...reservation("r-move"), executeTime: at("2027-07-01T00:00:00Z") },
          options,
        ),
      refused: ({ reservations }) =>
        reservations.rescheduleReservation({ ...missing, executeTime }),
      act: {
        changes: [changed("execute_time", "2027-06-01T00:00:00.000Z", "2027-07-01T00:00:00.000Z")],
      },
    },
    ChangeReservationPoints: {
      prepare: reserve("r-points"),
      call: ({ reservations }, options) =>
        reservations.changeReservationPoints({ ...reservation("r-points"), points: 7n }, options),
      refused: ({ reservations }) =>
        reservations.changeReservationPoints({ ...missing, points: 7n }),
      act: { changes: [changed("points", "10", "7")] },
    },
    RetryReservation: {
      prepare: () => failReservation(server, { ...reservation("r-fail"), userId: "failer" }),
      call: ({ reservations }, options) =>
        reservations.retryReservation(reservation("r-fail"), options),
      refused: ({ reservations }) => reservations.retryReservation(missing),
      act: { changes: [changed("state", "FAILED", "PENDING")] },
    },
    PauseProgramReservations: {
      call: ({ reservations }, options) =>
        reservations.pauseProgramReservations({ programId, reason }, options),
      refused: ({ reservations }) => reservations.pauseProgramReservations({ programId: "none" }),
      act: { ...program, reason, changes: [changed("reservations_paused", "false", "true")] },
    },
    ResumeProgramReservations: {
      call: ({ reservations }, options) =>
        reservations.resumeProgramReservations({ programId, reason }, options),
      refused: ({ reservations }) => reservations.resumeProgramReservations({ programId: "none" }),
      act: { ...program, reason, changes: [changed("reservations_paused", "true", "false")] },
    },
  };
}
