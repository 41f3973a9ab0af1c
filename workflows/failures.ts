/** Turns the refusals of activities into failures of workflows and updates. */
import { ActivityFailure, ApplicationFailure } from "@temporalio/common";
import { isCancellation } from "@temporalio/workflow";

/**
 * Returns the result of an activity. When the activity is refused, throws a failure with the same
 * reason for the workflow or update that started it.
 */
export async function unwrapRefusal<T>(activity: Promise<T>): Promise<T> {
  try {
    return await activity;
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    throw refuse(refusal.message, refusal.type, refusal.details);
  }
}

/**
 * Returns the refusal behind an activity's failure; undefined for a failure that may be retried. A
 * local activity throws its failure directly, any other activity inside an ActivityFailure.
 */
export function refusalOf(error: unknown): ApplicationFailure | undefined {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  return failure instanceof ApplicationFailure && failure.nonRetryable ? failure : undefined;
}

/** Whether an activity has failed after its attempts, and not because its run was cancelled. */
const isActivityFailure = (error: unknown): boolean =>
  error instanceof ActivityFailure && !isCancellation(error);

/** Returns the result of an activity; undefined when it has failed after its attempts. */
export async function orNothing<T>(activity: Promise<T>): Promise<T | undefined> {
  try {
    return await activity;
  } catch (error) {
    if (isActivityFailure(error)) return undefined;
    throw error;
  }
}

/** Returns a failure for a reason. It has no stack, which would not help an operator. */
export function refuse(
  message: string,
  type: string | null | undefined,
  details?: unknown[] | null,
): ApplicationFailure {
  const failure = ApplicationFailure.create({
    message,
    nonRetryable: true,
    ...(type && { type }),
    ...(details && { details }),
  });
  failure.stack = "";
  return failure;
}
