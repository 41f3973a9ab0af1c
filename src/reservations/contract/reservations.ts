/** The workflow of a reservation: its id, its lead and its steps. */

import type { ChangeView } from "../../platform/contract/changes.ts";
import { endsWithRecord } from "../../platform/contract/how-to-end.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";

export const reservationWorkflowId = (programId: string, reservationId: string): string =>
  `reservation/${programId}/${reservationId}`;

export const reservationHowToEnd = endsWithRecord(
  "cancels it",
  "tries again what has failed, and else changes nothing",
);

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
      readonly last_change?: ChangeView | undefined;
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
  readonly last_change?: ChangeView | undefined;
}

/** The reservation after an update. */
export interface ReservationView {
  readonly state: string;
  readonly execute_time: string;
  readonly points: Points;
}
