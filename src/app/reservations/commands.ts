/** The use cases that create and change reservations. */
import type { Caller } from "../../domain/caller.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import {
  type Change,
  cancel,
  checkExecuteTime,
  type Reservation,
  reschedule,
  retry,
} from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import { requestHash } from "../shared/idempotency.ts";
import { doEach, type ItemResult, type OnFailed } from "./batches.ts";
import { changeRow } from "./change-row.ts";
import { type ReservationName, type VisibleReservation, visible } from "./visible.ts";
import { startRun, syncRun } from "./workflow-runs.ts";

/** What a caller reserves. */
interface NewReservation {
  readonly reservationId: string;
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
  readonly executeTime: Instant;
}

/** A reservation, and whether an earlier call had created it. */
type CreatedReservation = VisibleReservation & { readonly replayed: boolean };

type CommandDeps = Pick<Deps, "engine" | "programs" | "workflows" | "background">;

/**
 * Writes the row, then starts its workflow in the background, so that the caller does not wait for
 * Temporal. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST as `checkExecuteTime`, ID_REUSED.
 */
export async function createReservation(
  deps: CommandDeps,
  input: NewReservation & {
    readonly programId: string;
    readonly caller: Caller;
    readonly deadline?: number | undefined;
  },
): Promise<CreatedReservation> {
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
        unsynced: true,
        changedBy: caller,
      };
      tx.put(ref, row);
      return { ...visible(row, wall), replayed: false };
    },
  });
  const { row, replayed } = created;
  if (!replayed) deps.background(() => startRun(deps, row));
  else if (row.unsynced) deps.background(() => syncRun(deps, row));
  return created;
}

/**
 * Creates every reservation of a batch, as `createReservation` does. Refusals of single ones are
 * their results; PROGRAM_NOT_FOUND and PROGRAM_STALE refuse the whole batch.
 */
export async function createReservations(
  deps: CommandDeps,
  batch: {
    readonly programId: string;
    readonly reservations: readonly NewReservation[];
    readonly caller: Caller;
    readonly deadline: number | undefined;
  },
  onFailed: OnFailed,
): Promise<ItemResult<CreatedReservation>[]> {
  const { reservations, ...shared } = batch;
  await deps.programs.get(shared.programId);
  const create = (item: NewReservation) => createReservation(deps, { ...item, ...shared });
  return doEach(reservations, create, onFailed);
}

/** Cancels a pending or failed reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE. */
export function cancelReservation(
  deps: CommandDeps,
  input: ReservationName & Change,
): Promise<VisibleReservation> {
  return changeRow(deps, input, (row, now) => cancel(row, input, now));
}

/**
 * Moves a pending reservation to another time. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE,
 * INVALID_REQUEST as `checkExecuteTime`.
 */
export function rescheduleReservation(
  deps: CommandDeps,
  input: ReservationName & Change & { readonly executeTime: Instant },
): Promise<VisibleReservation> {
  return changeRow(deps, input, (row, now) => reschedule(row, input.executeTime, input, now));
}

/**
 * Sets a failed reservation to pending and starts a new run. Refusals: RESERVATION_NOT_FOUND,
 * WRONG_STATE.
 */
export function retryReservation(
  deps: CommandDeps,
  input: ReservationName & Change,
): Promise<VisibleReservation> {
  return changeRow(deps, input, (row, now) => retry(row, input, now));
}
