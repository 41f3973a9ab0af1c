/** The use case that grants the points of a reservation when they are due. */
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
import { reservationNotFound } from "./visible.ts";

/** One attempt of one workflow run to execute a reservation. */
export interface Attempt {
  readonly programId: string;
  readonly reservationId: string;
  readonly userId: string;
  readonly runId: string;
}

/**
 * Grants the points of a due reservation and sets its row DONE in one transaction. Otherwise
 * returns the step that follows from the row: not due, cancelled, done or failed. A refusal of the
 * grant sets the row FAILED. May be repeated. Refusal: RESERVATION_NOT_FOUND.
 */
export async function executeReservation(
  deps: Pick<Deps, "engine" | "programs">,
  attempt: Attempt,
): Promise<{ step: ReservationStep; row: Reservation }> {
  try {
    const program = await deps.programs.get(attempt.programId);
    return await grantOnce(deps, attempt, program);
  } catch (error) {
    const isRefusal = error instanceof DomainError && !error.retryable;
    if (!isRefusal || error.reason === "RESERVATION_NOT_FOUND") throw error;
    return setFailed(deps, attempt, error);
  }
}

function grantOnce(deps: Pick<Deps, "engine">, attempt: Attempt, program: Program) {
  const { userId, reservationId } = attempt;
  const event = { origin: "r", eventId: reservationId } as const;
  const account = accountRef(program.programId, userId);
  const eventKey = eventRef(program.programId, userId, eventName(event));
  const ref = reservationRef(program.programId, reservationId);
  return deps.engine.transact({
    key: account,
    readSet: [account, ref],
    expectAbsent: [eventKey],
    deadline: undefined,
    decide(tx, now) {
      const { row, step } = readStep(tx, attempt, now);
      if (step) return { step, row };
      const granted = tx.get(eventKey);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const { reason, caller, points, hash } = row;
      // The event key is authoritative: the row may come from a backup.
      const { entry } = granted
        ? replayedResult(granted, hash)
        : putChange(tx, eventKey, hash, grant(state, { event, reason, caller }, points));
      const done = complete(row, entry.number, now.wall);
      tx.put(ref, done);
      return { step: { step: "DONE", entry: entry.number } as const, row: done };
    },
  });
}

/**
 * Sets the row FAILED. This is a transaction of its own, because the engine commits nothing for a
 * refused decision. Read validation has confirmed the refusal before.
 */
function setFailed(deps: Pick<Deps, "engine">, attempt: Attempt, refusal: DomainError) {
  const ref = reservationRef(attempt.programId, attempt.reservationId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx, now) {
      const { row, step } = readStep(tx, attempt, now);
      if (step) return { step, row };
      const failed = fail(row, refusal, attempt.runId, now.wall);
      tx.put(ref, failed);
      return { step: failedStep(failed), row: failed };
    },
  });
}

/** Reads the row and the step that follows from it. Without a step, this run has to grant. */
function readStep(
  tx: Transaction,
  { programId, reservationId, runId }: Attempt,
  { wall }: Now,
): { row: Reservation; step?: ReservationStep } {
  const row = tx.get(reservationRef(programId, reservationId));
  if (!row) throw reservationNotFound(reservationId);
  switch (nextStep(row, runId, wall)) {
    case "GRANT":
      return { row };
    case "WAIT": {
      const { executeTime } = row;
      return { row, step: { step: "WAIT", executeTime, waitMs: executeTime - wall } };
    }
    case "DONE":
      return { row, step: { step: "DONE", entry: row.executed?.entryNumber ?? 0 } };
    case "CANCELLED":
      return { row, step: { step: "CANCELLED" } };
    case "FAILED":
      return { row, step: failedStep(row) };
  }
}

function failedStep({ failure }: Reservation): ReservationStep {
  const { reason, message } = failure ?? {
    reason: "WRONG_STATE",
    message: "this run has failed before; another one tries again",
  };
  return { step: "FAILED", reason, message };
}
