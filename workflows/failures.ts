import { ActivityFailure, ApplicationFailure } from "@temporalio/common";

/**
 * The refusal behind an activity's failure; undefined when it was anything that may pass. A local
 * activity's failure comes as it was thrown, any other's inside an ActivityFailure.
 */
export function refusalOf(error: unknown): ApplicationFailure | undefined {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  return failure instanceof ApplicationFailure && failure.nonRetryable ? failure : undefined;
}

/** Runs an activity; its refusal becomes the failure of the workflow or update that asked. */
export async function orRefusal<T>(activity: Promise<T>): Promise<T> {
  try {
    return await activity;
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    throw refuse(refusal.message, refusal.type, refusal.details);
  }
}

/** A failure for a reason; where in the code it arose tells an operator nothing. */
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
