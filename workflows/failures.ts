/** Turns the refusals of activities into failures of workflows and updates. */
import { ActivityFailure, ApplicationFailure } from "@temporalio/common";
import { isCancellation, workflowInfo } from "@temporalio/workflow";

/**
 * Returns the result of an activity. When the activity is refused, throws a failure with the same
 * reason for the workflow or update that started it.
 */
export async function orRefusal<T>(activity: Promise<T>): Promise<T> {
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

/**
 * Refuses an input without these texts, such as that of a run that was started by hand: an error
 * that is not a failure would repeat the task for ever. Refuses progress (`so_far`) of a run that
 * continues no other one, too: it was copied or made up, and would leave out a part of the work.
 */
export function requireTexts<T>(input: T, fields: readonly (keyof T & string)[]): void {
  for (const field of fields) {
    const value: unknown = input?.[field];
    if (typeof value !== "string" || value === "") {
      throw refuse(`${field}: is required`, "INVALID_REQUEST");
    }
  }
  const { so_far } = input as { readonly so_far?: unknown };
  if (so_far !== undefined && workflowInfo().continuedFromExecutionRunId === undefined) {
    const message = "so_far: only a run that continues another one has it; start one without it";
    throw refuse(message, "INVALID_REQUEST");
  }
}

/** Refuses an input whose fields do not have these types; `?` marks one that may be absent. */
export function requireTypes<T>(
  input: T,
  types: { readonly [K in keyof T & string]?: "number" | "string?" },
): void {
  for (const [field, type] of Object.entries<string>(types as Record<string, string>)) {
    const given: unknown = input[field as keyof T];
    const expected = type.replace("?", "");
    if (typeof given === expected || (given === undefined && type.endsWith("?"))) continue;
    throw refuse(`${field}: must be a ${expected}`, "INVALID_REQUEST");
  }
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
