/** The use cases that create and change reservations. */
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
 * Writes the row, then starts its workflow in the background, so that the caller does not wait for
 * Temporal. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a time more than five years ahead,
 * ID_REUSED.
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
      const row: Reservation = {
        programId,
        reservationId,
        userId,
        points,
        reason,
        caller,
        hash,
        executeTime,
        state: "PENDING",
        createTime: wall,
        updateTime: wall,
      };
      tx.put(ref, row);
      return { ...visible(row, wall), replayed: false };
    },
  });
  const { row } = created;
  if (row.state === "PENDING") deps.background(() => startRun(deps, row));
  return created;
}

/** Cancels a pending reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE. */
export async function cancelReservation(
  deps: CommandDeps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, cancel);
  deps.background(() => refreshRun(deps, changed.row, false));
  return changed;
}

/**
 * Moves a pending reservation to another time. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE,
 * INVALID_REQUEST for a time more than five years ahead.
 */
export async function rescheduleReservation(
  deps: CommandDeps,
  name: ReservationName & { readonly executeTime: Instant },
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, (row, now) => reschedule(row, name.executeTime, now));
  deps.background(() => refreshRun(deps, changed.row, true));
  return changed;
}

/**
 * Sets a failed reservation to pending and starts a new run. Refusals: RESERVATION_NOT_FOUND,
 * WRONG_STATE.
 */
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
