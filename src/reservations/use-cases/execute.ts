/** The use case that grants the points of a reservation when they are due. */

import type { Lookup, Transaction } from "../../platform/ports/engine.ts";
import { linkTo, runInSpan, startSpan } from "../../platform/ports/tracing.ts";
import { annotationsOf } from "../../platform/words/annotations.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Programs } from "../../points/ports/programs.ts";
import { accountRef, eventRef, programRef } from "../../points/ports/records.ts";
import { eventName } from "../../points/rules/ledger.ts";
import { type Event, grant } from "../../points/rules/points.ts";
import { type Program, pauseReadMs, type ReservationPause } from "../../points/rules/program.ts";
import { putChange, replayedResult } from "../../points/use-cases/commands.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import {
  complete,
  fail,
  type LatenessCause,
  latenessCause,
  nextStep,
  type Reservation,
} from "../rules/reservation.ts";
import { reservationNotFound } from "./visible-reservation.ts";

/** One attempt to execute a reservation. */
export interface Attempt {
  readonly programId: string;
  readonly reservationId: string;
  readonly userId: string;
  /** When an operator has reset the workflow run of this attempt, if one has. */
  readonly resetTime?: Instant | undefined;
}

/** The outcome of an attempt, or the outcome that the record has already. */
export type Execution =
  | Granted
  | { readonly outcome: "WAIT" | "CANCELLED"; readonly reservation: Reservation }
  | {
      readonly outcome: "FAILED";
      readonly reservation: Reservation;
      /** Whether this attempt has set the record FAILED, and not an earlier one. */
      readonly isNew?: boolean | undefined;
    }
  | {
      readonly outcome: "PAUSED";
      readonly reservation: Reservation;
      readonly pause: ReservationPause;
    };

/** The points are granted, by this attempt or an earlier one. */
export interface Granted {
  readonly outcome: "DONE";
  readonly reservation: Reservation;
  /** The points of the account after the grant. */
  readonly availablePoints: number;
  /** Whether the program notifies the user of it. */
  readonly notifies: boolean;
  /** Why this attempt granted late. Absent after an earlier attempt's grant, and after a reset. */
  readonly cause?: LatenessCause | undefined;
}

/** An execution before the available points after a grant by an earlier attempt is known. */
type Decided =
  | Exclude<Execution, Granted>
  | {
      readonly outcome: "DONE";
      readonly reservation: Reservation;
      readonly availablePoints?: number;
      readonly cause?: LatenessCause | undefined;
    };

type ExecuteDeps = Pick<Deps, "engine" | "programs" | "reader">;

/**
 * Grants the points of a due reservation and sets its record DONE in one transaction. Otherwise
 * returns what follows from the record: not due, cancelled, done or failed. A refusal of the grant
 * sets the record FAILED; a retryable error changes nothing and is thrown. May be repeated.
 * Refusals: RESERVATION_NOT_FOUND, INVALID_REQUEST for another user than the record's.
 *
 * An attempt begins a trace of its own, because hours may lie between it and the call that
 * reserved; a link leads to that call.
 */
export function executeReservation(deps: ExecuteDeps, attempt: Attempt): Promise<Execution> {
  const { programId, reservationId } = attempt;
  const attributes = { "meguri.program_id": programId, "meguri.reservation_id": reservationId };
  return runInSpan(startSpan("execute reservation", { attributes }), () => execute(deps, attempt));
}

async function execute(deps: ExecuteDeps, attempt: Attempt): Promise<Execution> {
  let program: Program | undefined;
  let decided: Decided;
  try {
    program = await deps.programs.read(attempt.programId);
    decided = await grantOnce(deps, attempt);
  } catch (error) {
    if (!isRefusalOfGrant(error)) throw error;
    decided = await setFailed(deps, attempt, error);
  }
  linkTo(decided.reservation.traceparent);
  if (decided.outcome !== "DONE") return decided;
  const { reservation, cause, availablePoints = await pointsAfter(deps, attempt) } = decided;
  const notifies = program?.notices?.reservedGrants ?? false;
  return { outcome: "DONE", reservation, availablePoints, notifies, cause };
}

/** Reads the available points after the grant of an earlier attempt. */
async function pointsAfter({ reader }: ExecuteDeps, attempt: Attempt): Promise<number> {
  return (await reader.get(eventKeyOf(attempt)))?.value.availablePoints ?? 0;
}

/** A retryable error says nothing about the grant, and an unknown record cannot become FAILED. */
const isRefusalOfGrant = (error: unknown): error is DomainError =>
  error instanceof DomainError &&
  !error.retryable &&
  error.reason !== "RESERVATION_NOT_FOUND" &&
  error.reason !== "INVALID_REQUEST";

const eventKeyOf = ({ programId, userId, reservationId }: Attempt) =>
  eventRef(programId, userId, eventName({ origin: "r", eventId: reservationId }));

/** The event of the grant. */
const eventOf = (reservation: Reservation): Event => ({
  event: { origin: "r", eventId: reservation.reservationId },
  ...annotationsOf(reservation),
  caller: reservation.creator,
});

/**
 * Reads the program again for a decision that has waited for too long: for its account, or because
 * the process is slow.
 */
const readAgain = (programs: Programs, programId: string): Lookup<Program> => ({
  name: "program",
  source: programRef(programId),
  holds: () => programs.recent(programId, pauseReadMs) !== undefined,
  read: async () => ({ result: await programs.read(programId), unchanged: [] }),
});

function grantOnce({ engine, programs }: ExecuteDeps, attempt: Attempt): Promise<Decided> {
  const { programId, userId, reservationId } = attempt;
  const account = accountRef(programId, userId);
  const eventKey = eventKeyOf(attempt);
  const ref = reservationRef(programId, reservationId);
  return engine.transact({
    key: account,
    readSet: [account, ref],
    expectAbsent: [eventKey],
    call: undefined,
    decide(tx, now) {
      const program =
        programs.recent(programId, pauseReadMs) ?? tx.lookup(readAgain(programs, programId));
      const reservation = readReservation(tx, attempt);
      const step = nextStep(reservation, now.wall, attempt.resetTime);
      if (step !== "GRANT") return { outcome: step, reservation };
      const { reservationPause: pause, resumeTime } = program;
      if (pause) return { outcome: "PAUSED", reservation, pause };
      const granted = tx.get(eventKey);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const { points, expiry, hash } = reservation;
      // The event key is authoritative: the record may come from a backup.
      const { entry, availablePoints } = granted
        ? replayedResult(granted, hash)
        : putChange(tx, eventKey, hash, grant(state, eventOf(reservation), points, expiry));
      const done = complete(reservation, entry, now.wall);
      tx.put(ref, done);
      const cause = latenessCause(reservation, resumeTime);
      return { outcome: "DONE", reservation: done, availablePoints, cause };
    },
  });
}

/**
 * Sets the record FAILED. This is a transaction of its own, because the engine commits nothing for
 * a refused decision. Read validation has confirmed the refusal before.
 */
function setFailed(
  { engine }: ExecuteDeps,
  attempt: Attempt,
  refusal: DomainError,
): Promise<Decided> {
  const ref = reservationRef(attempt.programId, attempt.reservationId);
  return engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx, now): Decided {
      const reservation = readReservation(tx, attempt);
      const step = nextStep(reservation, now.wall, attempt.resetTime);
      if (step !== "GRANT") return { outcome: step, reservation };
      const failed = fail(reservation, refusal, now.wall);
      tx.put(ref, failed);
      return { outcome: "FAILED", reservation: failed, isNew: true };
    },
  });
}

function readReservation(
  tx: Transaction,
  { programId, reservationId, userId }: Attempt,
): Reservation {
  const reservation = tx.get(reservationRef(programId, reservationId));
  if (!reservation) throw reservationNotFound(reservationId);
  if (reservation.userId !== userId) {
    throw new DomainError("INVALID_REQUEST", "user_id: the reservation is for another user");
  }
  return reservation;
}
