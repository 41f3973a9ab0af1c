/** Changes the record of a reservation in one transaction. */

import { type Changed, fieldChanges } from "../../acts/rules/act.ts";
import { putAct, putActOnce } from "../../acts/use-cases/acts.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Now } from "../../platform/ports/clock.ts";
import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import type { Reservation } from "../rules/reservation.ts";
import {
  type ReservationCall,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible-reservation.ts";
import { writeMarked } from "./workflow-runs.ts";

/** The one act of a call that changes many reservations, and the time of this call. */
export interface ActOfMany {
  readonly changed: Changed;
  readonly time: Instant;
}

/**
 * Writes what `change` makes of the reservation, with the act of an audited call; nothing when it
 * returns the same object. Brings its workflow run in line in the background. Refusals:
 * RESERVATION_NOT_FOUND, and those of `change`.
 */
export async function changeReservation(
  deps: Pick<Deps, "engine" | "programs" | "dueHours" | "workflows" | "clock" | "background">,
  call: ReservationCall & { readonly reason: string; readonly actOfMany?: ActOfMany },
  change: (reservation: Reservation, now: Now) => Reservation,
): Promise<VisibleReservation & { readonly isChanged: boolean }> {
  const { programId, reservationId, validateOnly } = call;
  const ref = reservationRef(programId, reservationId);
  const decide = (limits: CallLimits) =>
    changeRecord<"reservation", Reservation>(
      deps,
      {
        ref,
        call: limits,
        together: (tx, { wall }, { before = {}, record }) =>
          call.actOfMany
            ? putActOnce(tx, call, call.actOfMany.time, call.actOfMany.changed)
            : putAct(tx, call, wall, changedOf(before, record, call.reason)),
      },
      (reservation, now) => {
        if (!reservation) throw reservationNotFound(reservationId);
        return change(reservation, now);
      },
    );
  // Before it is marked: a call that is refused or repeated writes nothing.
  let decided = await decide({ ...call, validateOnly: true });
  if (decided.isChanged && !validateOnly) {
    const { state, executeTime } = decided.record;
    if (state === "PENDING") await deps.dueHours.mark(programId, executeTime, call);
    decided = await writeMarked(deps, call, () => decide(call));
  }
  const { record, isChanged, now } = decided;
  return { ...visible(record, now.wall), isChanged };
}

/** What a change has changed of a reservation. */
const changedOf = (before: Partial<Reservation>, record: Reservation, reason: string): Changed => ({
  programId: record.programId,
  objectType: "reservation",
  objectId: record.reservationId,
  userId: record.userId,
  changes: fieldChanges(shown(before), shown(record)),
  reason,
});

/** The values of a reservation that people change. */
const shown = ({ state, executeTime, points }: Partial<Reservation>) => ({
  state,
  execute_time: executeTime === undefined ? undefined : new Date(executeTime).toISOString(),
  points,
});
