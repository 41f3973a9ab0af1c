/** How errors of activities reach Temporal: with their reason, and retried unless refused. */
import { ApplicationFailure, TemporalFailure } from "@temporalio/common";
import { DomainError } from "../src/domain/errors.ts";

/** The failure as Temporal is to see it: a history gets no stack, table name or AWS message. */
export function toFailure(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  const failure = error instanceof DomainError ? known(error) : unknown();
  failure.stack = "";
  return failure;
}

function known({ reason, message, metadata, retryable }: DomainError): ApplicationFailure {
  const details = Object.keys(metadata).length > 0 ? [metadata] : [];
  return ApplicationFailure.create({ type: reason, message, nonRetryable: !retryable, details });
}

/** All that a history tells of an error nobody thought of. */
export const unexpectedMessage = "unexpected error; the worker's log has it";

const unknown = () => ApplicationFailure.retryable(unexpectedMessage, "INTERNAL");
