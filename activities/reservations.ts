/** The activities of the reservation workflow. */
import { activityInfo } from "@temporalio/activity";
import type { Deps } from "../src/app/ports/deps.ts";
import { cancelReservation, rescheduleReservation } from "../src/app/reservations/commands.ts";
import { executeReservation } from "../src/app/reservations/execute.ts";
import type { VisibleReservation } from "../src/app/reservations/visible.ts";
import type {
  RescheduleInput,
  ReservationInput,
  ReservationKey,
  ReservationStep,
  ReservationView,
} from "../src/contract.ts";
import { DomainError } from "../src/domain/errors.ts";
import type { Reservation } from "../src/domain/reservation.ts";
import { check } from "./checks.ts";

/** `onDone` is called for every reservation that was granted. */
export function reservationActivities(deps: Deps, onDone: (row: Reservation) => void) {
  // The run that handles an Update refreshes itself, so it needs no signal.
  const depsWithoutSignal: Deps = {
    ...deps,
    workflows: { ...deps.workflows, signalRefresh: async () => {} },
  };
  return {
    /** Grants the points if they are due. Otherwise returns the step that follows from the row. */
    async executeReservation(input: ReservationInput): Promise<ReservationStep> {
      const fields = { program: "string", reservation: "string", user: "string" };
      const { program: programId, reservation: reservationId, user: userId } = check(input, fields);
      const runId = activityInfo().workflowExecution?.runId ?? "";
      const attempt = { programId, reservationId, userId, runId };
      const { step, row } = await executeReservation(deps, attempt);
      if (step.step === "DONE") onDone(row);
      return step;
    },

    /** Cancels the reservation, as the RPC does. */
    async cancelReservation(key: ReservationKey): Promise<ReservationView> {
      return toView(await cancelReservation(depsWithoutSignal, toName(key)));
    },

    /** Reschedules the reservation, as the RPC does. */
    async rescheduleReservation(
      key: ReservationKey,
      { execute_time }: RescheduleInput,
    ): Promise<ReservationView> {
      const executeTime = Date.parse(execute_time);
      if (Number.isNaN(executeTime)) {
        throw new DomainError("INVALID_REQUEST", "execute_time: must be an RFC 3339 time");
      }
      return toView(
        await rescheduleReservation(depsWithoutSignal, { ...toName(key), executeTime }),
      );
    },
  };
}

function toName(key: ReservationKey) {
  const { program: programId, reservation: reservationId } = check(key, {
    program: "string",
    reservation: "string",
  });
  return { programId, reservationId };
}

const toView = ({ row, state }: VisibleReservation): ReservationView => ({
  state,
  execute_time: new Date(row.executeTime).toISOString(),
});
