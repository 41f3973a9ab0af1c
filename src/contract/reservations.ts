/** The workflow of a reservation: its id, signal and Updates, and its inputs and steps. */

export const reservationWorkflowId = (programId: string, reservationId: string): string =>
  `reservation/${programId}/${reservationId}`;

/** Returns the reservation of a workflow id; undefined for the id of another workflow. */
export function reservationOf(
  workflowId: string,
): { programId: string; reservationId: string } | undefined {
  const [, programId, reservationId] = /^reservation\/([^/]+)\/(.+)$/.exec(workflowId) ?? [];
  return programId && reservationId ? { programId, reservationId } : undefined;
}

/** The signal upon which the workflow of a reservation reads its row again. */
export const refreshSignal = "look";

/** Starts the workflow of one reservation. Operators read it as the input of the run. */
export interface ReservationInput {
  readonly program_id: string;
  readonly reservation_id: string;
  readonly user_id: string;
  readonly points: number;
  /** RFC 3339, in the zone of the program. The row may have another one by now. */
  readonly execute_time_at_start: string;
}

/** The input of the activities that grant a reservation. */
export interface GrantInput extends ReservationInput {
  /** The execute time that the workflow has read last, as RFC 3339. */
  readonly execute_time: string;
  /** How long before the execute time the activity wakes up, in ms. */
  readonly lead_ms: number;
  /** The run id of the run whose history this run continues: another one after a reset. */
  readonly original_run_id: string;
}

/**
 * The step that a grant activity has made or that follows from the row. Times are RFC 3339. After
 * RETRY, a retryable error, the workflow tries again.
 */
export type ReservationStep =
  | {
      readonly step: "WAIT";
      readonly execute_time: string;
      /** Who moved or retried it last, and why. Absent when it was not changed. */
      readonly changed_by?: string;
      readonly reason?: string;
    }
  | { readonly step: "PAUSED"; readonly paused_by: string; readonly reason: string }
  | { readonly step: "RETRY"; readonly reason: string; readonly message: string }
  | ReservationResult
  | { readonly step: "CANCELLED"; readonly changed_by: string; readonly reason: string }
  | {
      readonly step: "FAILED";
      readonly reason: string;
      readonly message: string;
      /** The run that has read this. A run that was reset finds the id of another run here. */
      readonly run_id: string;
    };

/** The result of a run whose points are granted. */
interface ReservationResult {
  readonly step: "DONE";
  readonly points: number;
  /** The points of the account after the grant. */
  readonly balance: number;
  readonly executed_time: string;
  readonly lateness_ms: number;
  readonly entry_number: number;
}

/** Who changes a reservation from Temporal, and why. Both may be left out. */
export interface ChangeInput {
  /** The name of the operator, at most 64 bytes. */
  readonly changed_by?: string;
  /** At most 128 bytes. */
  readonly reason?: string;
}

/** The argument of the `reschedule` update: an RFC 3339 time with a zone. */
export interface RescheduleInput extends ChangeInput {
  readonly execute_time: string;
}

/** Names a reservation to the activities of the updates. */
export interface ReservationKey {
  readonly program: string;
  readonly reservation: string;
}

/** The reservation after an update. */
export interface ReservationView {
  readonly state: string;
  readonly execute_time: string;
}
