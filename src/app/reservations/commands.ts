import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import {
  cancel,
  checkExecuteTime,
  type Reservation,
  reschedule,
  retry,
} from "../../domain/reservation.ts";
import { requestHash } from "../idempotency.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import {
  type ReservationName,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible.ts";
import { refreshRun, startRun } from "./workflow-runs.ts";

type CommandDeps = Pick<Deps, "engine" | "programs" | "workflows" | "background">;

/**
 * Writes the row and starts its workflow; the answer waits for the row alone. Refusals:
 * PROGRAM_NOT_FOUND, INVALID_REQUEST more than five years ahead, ID_REUSED.
 */
export async function createReservation(
  deps: CommandDeps,
  input: ReservationName & {
    readonly userId: string;
    readonly points: number;
    readonly reason: string;
    readonly executeTime: Instant;
    readonly caller: string;
  },
): Promise<VisibleReservation & { replayed: boolean }> {
  const { programId, reservationId, userId, points, reason, executeTime, caller } = input;
  await deps.programs.get(programId);
  const hash = requestHash("reserve", caller, { user: userId, points, reason, executeTime });
  const ref = reservationRef(programId, reservationId);
  const created = await deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    deadline: input.deadline,
    decide(tx, { wall }) {
      const existing = tx.get(ref);
      if (existing && existing.hash !== hash) {
        throw new DomainError("ID_REUSED", "this reservation_id was used for another request");
      }
      if (existing) return { ...visible(existing, wall), replayed: true };
      checkExecuteTime(executeTime, wall);
      const times = { executeTime, createTime: wall, updateTime: wall };
      const ids = { programId, reservationId, userId };
      const what = { points, reason, caller, hash };
      const row: Reservation = { ...ids, ...what, ...times, state: "PENDING" };
      tx.put(ref, row);
      return { ...visible(row, wall), replayed: false };
    },
  });
  const { row } = created;
  if (row.state === "PENDING") deps.background(() => startRun(deps, row));
  return created;
}

/** Cancels until the grant has committed. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE. */
export async function cancelReservation(
  deps: CommandDeps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, cancel);
  deps.background(() => refreshRun(deps, changed.row, false));
  return changed;
}

/**
 * Moves a pending reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE, INVALID_REQUEST more
 * than five years ahead.
 */
export async function rescheduleReservation(
  deps: CommandDeps,
  name: ReservationName & { readonly executeTime: Instant },
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, (row, now) => reschedule(row, name.executeTime, now));
  deps.background(() => refreshRun(deps, changed.row, true));
  return changed;
}

/** Lets a failed reservation try again, in a new run. Refusals as for cancelling. */
export async function retryReservation(
  deps: CommandDeps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, retry);
  deps.background(() => startRun(deps, changed.row));
  return changed;
}

function changeRow(
  deps: Pick<Deps, "engine">,
  { programId, reservationId, deadline }: ReservationName,
  change: (row: Reservation, now: Instant) => Reservation,
): Promise<VisibleReservation> {
  const ref = reservationRef(programId, reservationId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx, { wall }) {
      const row = tx.get(ref);
      if (!row) throw reservationNotFound(reservationId);
      const changed = change(row, wall);
      if (changed !== row) tx.put(ref, changed);
      return visible(changed, wall);
    },
  });
}
