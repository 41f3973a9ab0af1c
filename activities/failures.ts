/** Turns errors of activities into failures that a history may contain. */
import { ApplicationFailure, TemporalFailure } from "@temporalio/common";
import { DomainError } from "../src/platform/words/errors.ts";

/**
 * Returns the failure of an error, with its reason. Temporal retries it unless it is a refusal. A
 * history gets no stack, table name or AWS message.
 */
export function toFailure(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  const failure = error instanceof DomainError ? fromDomainError(error) : unexpectedFailure();
  failure.stack = "";
  return failure;
}

function fromDomainError({
  reason,
  message,
  metadata,
  retryable,
}: DomainError): ApplicationFailure {
  const details = Object.keys(metadata).length > 0 ? [metadata] : [];
  return ApplicationFailure.create({ type: reason, message, nonRetryable: !retryable, details });
}

/** The message of an unexpected error in a history. */
export const unexpectedMessage = "unexpected error; the worker's log has it";

const unexpectedFailure = () => ApplicationFailure.retryable(unexpectedMessage, "INTERNAL");
