/** The workflow of a reservation: its id, signal and Updates, and its inputs and steps. */

import type { ChangeInput, ChangeView } from "../../platform/contract/changes.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";

export const reservationWorkflowId = (programId: string, reservationId: string): string =>
  `reservation/${programId}/${reservationId}`;

/** Returns the reservation of a workflow id; undefined for the id of another workflow. */
export function reservationOf(
  workflowId: string,
): { programId: string; reservationId: string } | undefined {
  const [, programId, reservationId] = /^reservation\/([^/]+)\/(.+)$/.exec(workflowId) ?? [];
  return programId && reservationId ? { programId, reservationId } : undefined;
}

/**
 * The run begins at a random time before the execute time, and the grant activity of one that has
 * begun before wakes up then: early enough for the activity to be running at the moment, and
 * spread, so that many reservations of one moment do not start at once.
 */
export const reservationLead = { leastMs: 10_000, mostMs: 60_000 } as const;

/** Draws the lead of one run. A workflow draws the same one when it replays. */
export function drawLeadMs(): Milliseconds {
  const { leastMs, mostMs } = reservationLead;
  return leastMs + Math.floor(Math.random() * (mostMs - leastMs));
}

/** Names a reservation. The input of the activities that change it. */
export interface ReservationKey {
  readonly program_id: string;
  readonly reservation_id: string;
}

/** Starts the workflow of one reservation. Operators read it as the input of the run. */
export interface ReservationInput extends ReservationKey {
  readonly user_id: string;
  /** The record may have others by now. */
  readonly points: Points;
  /** RFC 3339, in the zone of the program. The record may have another one by now. */
  readonly execute_time_at_start: string;
  /** When the points expire, such as 2026-11, if that was reserved. */
  readonly expire_month?: string | undefined;
  /** As if the lifetime had so many months, if that was reserved. */
  readonly expire_after_months?: number | undefined;
  /** Why it was reserved. Absent when no reason was given. */
  readonly reason?: string | undefined;
  /** The cause. Absent when none was given. */
  readonly cause?: string | undefined;
  /** Who reserved it, as people read it. Absent in runs that are started by hand. */
  readonly reserved_by?: string | undefined;
  /** The header `traceparent` of the call that reserved. Absent where that call was not traced. */
  readonly traceparent?: string | undefined;
}

/** The input of the activities that grant a reservation. It is stored until the execute time. */
export interface GrantInput extends ReservationKey {
  /** The run id of the run whose history this run continues: another one after a reset. */
  readonly original_run_id: string;
  readonly user_id: string;
  /** The execute time that the workflow has read last, as RFC 3339. */
  readonly execute_time: string;
  /** How long before the execute time the activity wakes up, in ms. */
  readonly lead_ms: Milliseconds;
}

/**
 * The step that a grant activity has made or that follows from the record. Times are RFC 3339 in
 * the zone of the program. After RETRY, a retryable error, the workflow tries again.
 */
export type ReservationStep =
  | {
      readonly step: "WAIT";
      readonly execute_time: string;
      /** The points that are reserved. Absent where the record has not been read. */
      readonly points?: Points | undefined;
      /** The last change. Absent when there was none. */
      readonly last_change?: ChangeView | undefined;
    }
  | { readonly step: "PAUSED"; readonly pause: ChangeView }
  | { readonly step: "RETRY"; readonly reason: string; readonly message: string }
  | ReservationResult
  | { readonly step: "CANCELLED"; readonly last_change: ChangeView }
  | {
      readonly step: "FAILED";
      readonly reason: string;
      readonly message: string;
      /** The run that has read this. A run that was reset finds the id of another run here. */
      readonly run_id: string;
      /** Why a retry is refused. Absent when it is not. */
      readonly retry_refusal?: string | undefined;
    };

/** A step that ends the run. */
export type FinalStep = Extract<ReservationStep, { step: "DONE" | "CANCELLED" | "FAILED" }>;

export const isFinal = (step: ReservationStep): step is FinalStep =>
  step.step === "DONE" || step.step === "CANCELLED" || step.step === "FAILED";

/** The result of a run whose points are granted. */
interface ReservationResult {
  readonly step: "DONE";
  readonly execute_time: string;
  readonly grant_time: string;
  /** How late the points were granted, in the format of Protobuf JSON, such as "0.019s". */
  readonly lateness: string;
  readonly points: Points;
  /** The points of the account after the grant. */
  readonly available_points: Points;
  readonly entry_number: number;
}

/** The argument of the `reschedule` update: an RFC 3339 time with a zone. */
export interface RescheduleInput extends ChangeInput {
  readonly execute_time: string;
  /** Whether the time may be more than a day ago. */
  readonly allow_past_execute_time?: boolean | undefined;
}

/** The argument of the `change_points` update. */
export interface ChangePointsInput extends ChangeInput {
  readonly points: Points;
}

/** The reservation after an update. */
export interface ReservationView {
  readonly state: string;
  readonly execute_time: string;
  readonly points: Points;
}
