import type { ReservationStep } from "../../contract.ts";
import { DomainError } from "../../domain/errors.ts";
import { eventName } from "../../domain/ledger.ts";
import { grant } from "../../domain/points.ts";
import type { Program } from "../../domain/program.ts";
import { complete, fail, nextStep, type Reservation } from "../../domain/reservation.ts";
import { putChange, replay } from "../points/change-account.ts";
import {
  accountRef,
  type Deps,
  eventRef,
  type Now,
  reservationRef,
  type View,
} from "../ports/deps.ts";

/** One attempt of one workflow run at a reservation. */
export interface Attempt {
  readonly program: string;
  readonly id: string;
  readonly user: string;
  /** The workflow run that asks. */
  readonly run: string;
}

/**
 * Does what the row says now: grants the points and sets the row DONE in one transaction, or tells
 * that it is not due, cancelled or done. A business refusal sets it FAILED. Safe to repeat.
 */
export async function executeReservation(
  deps: Deps,
  attempt: Attempt,
): Promise<{ step: ReservationStep; row: Reservation }> {
  try {
    const program = await deps.programs.get(attempt.program);
    return await grantOnce(deps, attempt, program);
  } catch (error) {
    const refused = error instanceof DomainError && !error.retryable;
    if (!refused || error.reason === "RESERVATION_NOT_FOUND") throw error;
    return setFailed(deps, attempt, error);
  }
}

function grantOnce(deps: Deps, attempt: Attempt, program: Program) {
  const { user, id } = attempt;
  const event = { origin: "r", id } as const;
  const account = accountRef(program.id, user);
  const key = eventRef(program.id, user, eventName(event));
  const ref = reservationRef(program.id, id);
  return deps.engine.run({
    key: account,
    reads: [account, ref],
    absent: [key],
    deadline: undefined,
    decide(view, now) {
      const { row, other } = look(view, attempt, now);
      if (other) return { step: other, row };
      const granted = view.get(key);
      const scene = { program, user, account: view.get(account), now: now.calendar };
      const { reason, caller, points, hash } = row;
      // The points know better than a row that was restored from a backup.
      const { entry } = granted
        ? replay(granted, hash)
        : putChange(view, key, hash, grant(scene, { event, reason, caller }, points));
      const done = complete(row, entry.number, now.wall);
      view.put(ref, done);
      return { step: { step: "DONE", entry: entry.number } as const, row: done };
    },
  });
}

/** In a transaction of its own: the refusal was proven by a consistent read before it. */
function setFailed(deps: Deps, attempt: Attempt, error: DomainError) {
  const ref = reservationRef(attempt.program, attempt.id);
  return deps.engine.run({
    key: ref,
    reads: [ref],
    absent: [],
    deadline: undefined,
    decide(view, now) {
      const { row, other } = look(view, attempt, now);
      if (other) return { step: other, row };
      const failed = fail(row, error, attempt.run, now.wall);
      view.put(ref, failed);
      return { step: failedStep(failed), row: failed };
    },
  });
}

/** The row, and what it says unless it is this run's turn to grant. */
function look(
  view: View,
  { program, id, run }: Attempt,
  { wall }: Now,
): { row: Reservation; other?: ReservationStep } {
  const row = view.get(reservationRef(program, id));
  if (!row) throw new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${id}`);
  switch (nextStep(row, run, wall)) {
    case "GRANT":
      return { row };
    case "WAIT": {
      const { executeTime } = row;
      return { row, other: { step: "WAIT", executeTime, waitMs: executeTime - wall } };
    }
    case "DONE":
      return { row, other: { step: "DONE", entry: row.executed?.entry ?? 0 } };
    case "CANCELLED":
      return { row, other: { step: "CANCELLED" } };
    case "FAILED":
      return { row, other: failedStep(row) };
  }
}

function failedStep({ failure }: Reservation): ReservationStep {
  const { reason, message } = failure ?? {
    reason: "WRONG_STATE",
    message: "this run has failed before; another one tries again",
  };
  return { step: "FAILED", reason, message };
}
