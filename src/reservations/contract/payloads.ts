/** The payloads of reservations: what their runs, Updates and activities get. */
import { z } from "zod";
import {
  changeFields,
  holdId,
  id,
  listOf,
  month,
  payload,
  points,
  programId,
  shownTime,
  text,
  time,
  userId,
  whole,
} from "../../platform/contract/payloads.ts";

const key = { program_id: programId, reservation_id: id };

/** Names a reservation. The input of the activities that change it. */
export const reservationKey = payload(key);
export type ReservationKey = z.input<typeof reservationKey>;

/** Starts the workflow of one reservation. Operators read it as the input of the run. */
export const reservationInput = payload({
  ...key,
  user_id: userId,
  /** The record may have others by now. */
  points,
  /** In the zone of the program. The record may have another one by now. */
  execute_time_at_start: time,
  /** When the points expire, such as 2026-11, if that was reserved. */
  expire_month: month.optional(),
  /** As if the lifetime had so many months, if that was reserved. */
  expire_after_months: whole.optional(),
  /** Why it was reserved. Absent when no reason was given. */
  reason: text.optional(),
  /** The cause. Absent when none was given. */
  cause: text.optional(),
  /** Who reserved it, as people read it. Absent in runs that are started by hand. */
  reserved_by: text.optional(),
  /** The header `traceparent` of the call that reserved. Absent where that call was not traced. */
  traceparent: text.optional(),
});
export type ReservationInput = z.input<typeof reservationInput>;

/** The input of the activities that grant a reservation. It is stored until the execute time. */
export const grantInput = payload({
  ...key,
  /** The run id of the run whose history this run continues: another one after a reset. */
  original_run_id: text,
  user_id: userId,
  /** The execute time that the workflow has read last. */
  execute_time: shownTime,
  /** How long before the execute time the activity wakes up, in ms. */
  lead_ms: whole,
});
export type GrantInput = z.input<typeof grantInput>;
export type Grant = z.output<typeof grantInput>;

/** The argument of the Update `reschedule`. */
export const rescheduleInput = payload({
  ...changeFields,
  execute_time: time,
  /** Whether the time may be more than a day ago. */
  allow_past_execute_time: z.boolean("must be true or false").optional(),
});
export type RescheduleInput = z.input<typeof rescheduleInput>;

/** The argument of the Update `change_points`. */
export const changePointsInput = payload({ ...changeFields, points });
export type ChangePointsInput = z.input<typeof changePointsInput>;

/** Checks the runs of records that ended since a time. */
export const syncInput = payload({ since: time });

/** Starts the reconciler. The time is set by continue-as-new. */
export type ReconcilerInput = Partial<z.input<typeof syncInput>>;

const failed = { program_id: programId, reason: text };

/** The counts of a sweep that starts runs so far. At its end there is no cursor. */
export const startProgress = payload({
  /** The number of runs that were started or found running. */
  started: whole,
  failed: whole,
  /** The reservations and holds that failed, with a reason as in `FailedAccount`. */
  failures: listOf(
    z.union(
      [z.object({ ...failed, reservation_id: id }), z.object({ ...failed, hold_id: holdId })],
      "must be a reservation or a hold that failed",
    ),
  ),
  cursor: text.optional(),
});
export type StartProgress = z.input<typeof startProgress>;
export type StartCounts = Omit<StartProgress, "cursor">;
