import type { ReservationStep } from "../../contract.ts";
import { DomainError } from "../../domain/errors.ts";
import { eventName } from "../../domain/ledger.ts";
import { grant } from "../../domain/points.ts";
import type { Program } from "../../domain/program.ts";
import { complete, fail, nextStep, type Reservation } from "../../domain/reservation.ts";
import { putChange, replayedResult } from "../points/change-account.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import type { Transaction } from "../ports/engine.ts";
import { accountRef, eventRef, reservationRef } from "../ports/records.ts";

/** One attempt of one workflow run at a reservation. */
export interface Attempt {
  readonly programId: string;
  readonly reservationId: string;
  readonly userId: string;
  /** The workflow run that asks. */
  readonly runId: string;
}

/**
 * Does what the row says now: grants the points and sets the row DONE in one transaction, or tells
 * that it is not due, cancelled or done. A business refusal sets it FAILED. Safe to repeat.
 */
export async function executeReservation(
  deps: Pick<Deps, "engine" | "programs">,
  attempt: Attempt,
): Promise<{ step: ReservationStep; row: Reservation }> {
  try {
    const program = await deps.programs.get(attempt.programId);
    return await grantOnce(deps, attempt, program);
  } catch (error) {
    const refused = error instanceof DomainError && !error.retryable;
    if (!refused || error.reason === "RESERVATION_NOT_FOUND") throw error;
    return setFailed(deps, attempt, error);
  }
}

function grantOnce(deps: Pick<Deps, "engine">, attempt: Attempt, program: Program) {
  const { userId, reservationId } = attempt;
  const event = { origin: "r", eventId: reservationId } as const;
  const account = accountRef(program.programId, userId);
  const key = eventRef(program.programId, userId, eventName(event));
  const ref = reservationRef(program.programId, reservationId);
  return deps.engine.transact({
    key: account,
    readSet: [account, ref],
    expectAbsent: [key],
    deadline: undefined,
    decide(tx, now) {
      const { row, other } = inspect(tx, attempt, now);
      if (other) return { step: other, row };
      const granted = tx.get(key);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const { reason, caller, points, hash } = row;
      // The points know better than a row that was restored from a backup.
      const { entry } = granted
        ? replayedResult(granted, hash)
        : putChange(tx, key, hash, grant(state, { event, reason, caller }, points));
      const done = complete(row, entry.number, now.wall);
      tx.put(ref, done);
      return { step: { step: "DONE", entry: entry.number } as const, row: done };
    },
  });
}

/** In a transaction of its own: the refusal was proven by a consistent read before it. */
function setFailed(deps: Pick<Deps, "engine">, attempt: Attempt, error: DomainError) {
  const ref = reservationRef(attempt.programId, attempt.reservationId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx, now) {
      const { row, other } = inspect(tx, attempt, now);
      if (other) return { step: other, row };
      const failed = fail(row, error, attempt.runId, now.wall);
      tx.put(ref, failed);
      return { step: failedStep(failed), row: failed };
    },
  });
}

/** The row, and what it says unless it is this run's turn to grant. */
function inspect(
  tx: Transaction,
  { programId, reservationId, runId: run }: Attempt,
  { wall }: Now,
): { row: Reservation; other?: ReservationStep } {
  const row = tx.get(reservationRef(programId, reservationId));
  if (!row)
    throw new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${reservationId}`);
  switch (nextStep(row, run, wall)) {
    case "GRANT":
      return { row };
    case "WAIT": {
      const { executeTime } = row;
      return { row, other: { step: "WAIT", executeTime, waitMs: executeTime - wall } };
    }
    case "DONE":
      return { row, other: { step: "DONE", entry: row.executed?.entryNumber ?? 0 } };
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
