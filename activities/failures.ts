import { ApplicationFailure, TemporalFailure } from "@temporalio/common";
import { DomainError, type Reason } from "../src/domain/errors.ts";

/** What becomes of an activity that ended for a reason; the RPCs have a map of their own. */
const outcomes: Readonly<Record<Reason, "refused" | "retried">> = {
  INVALID_REQUEST: "refused",
  ID_REUSED: "refused",
  INSUFFICIENT_POINTS: "refused",
  ACCOUNT_FROZEN: "refused",
  WRONG_STATE: "refused",
  LIMIT_EXCEEDED: "refused",
  PROGRAM_NOT_FOUND: "refused",
  ACCOUNT_NOT_FOUND: "refused",
  LEDGER_ENTRY_NOT_FOUND: "refused",
  RESERVATION_NOT_FOUND: "refused",
  VERIFICATION_NOT_FOUND: "refused",
  TARGET_NOT_FOUND: "refused",
  TARGET_DELETED: "refused",
  UNAUTHENTICATED: "refused",
  LEDGER_DAMAGED: "refused",
  TOO_MANY_STREAMS: "retried",
  CONTENDED: "retried",
  DEADLINE: "retried",
  STORE_UNAVAILABLE: "retried",
  WORKFLOWS_UNAVAILABLE: "retried",
  CLOCK_OFF: "retried",
  PROGRAM_STALE: "retried",
};

/** The failure as Temporal is to see it: a history gets no stack, table name or AWS message. */
export function toFailure(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  const failure = error instanceof DomainError ? known(error) : unknown();
  failure.stack = "";
  return failure;
}

function known({ reason, message, metadata }: DomainError): ApplicationFailure {
  const nonRetryable = outcomes[reason] === "refused";
  const details = Object.keys(metadata).length > 0 ? [metadata] : [];
  return ApplicationFailure.create({ type: reason, message, nonRetryable, details });
}

/** All that a history tells of an error nobody thought of. */
export const unexpected = "unexpected error; the worker's log has it";

const unknown = () => ApplicationFailure.retryable(unexpected, "INTERNAL");
