/** Waits in the setup for a store and a Temporal that do not answer yet. */
import { DynamoDBServiceException } from "@aws-sdk/client-dynamodb";
import pRetry from "p-retry";
import { OperatorError } from "../platform/config/config-error.ts";
import { isTransient } from "../platform/dynamodb/sdk/failures.ts";
import type { Logger } from "../platform/observe/log.ts";
import { DomainError } from "../platform/words/errors.ts";
import { SchedulesMissing } from "../temporal/schedules.ts";

/** The pause between two attempts, and the time in which one has to succeed. */
const patience = { pauseMs: 1_000, giveUpMs: 60_000 };

/**
 * Takes a step again while the store or Temporal does not answer it, for a minute. The step has to
 * be one that may be taken any number of times.
 *
 * @throws OperatorError when the minute is over, or when the store refuses the step.
 */
export async function untilAnswered(
  step: () => Promise<void>,
  log: Logger,
  { pauseMs, giveUpMs } = patience,
): Promise<void> {
  try {
    await pRetry(step, {
      retries: Number.POSITIVE_INFINITY,
      factor: 1,
      minTimeout: pauseMs,
      maxRetryTime: giveUpMs,
      shouldRetry({ error }) {
        const silent = silentOne(error);
        if (silent) {
          const reason = error.message;
          log.warn({ reason }, `${silent} does not answer; trying again in ${pauseMs / 1_000} s`);
        }
        return silent !== undefined;
      },
    });
  } catch (error) {
    const { name, message } = error as Error;
    const silent = silentOne(error);
    if (silent === undefined && isRefusal(error)) {
      throw new OperatorError(`the store cannot be set up: ${name}: ${message}`);
    }
    if (silent === undefined) throw error;
    throw new OperatorError(`${silent} has not answered for ${giveUpMs / 1_000} s: ${message}`);
  }
}

/** The service that has not answered, if it may answer the same step later. */
function silentOne(error: unknown): string | undefined {
  if (error instanceof SchedulesMissing) return "Temporal";
  if (!(error instanceof DomainError)) return isTransient(error) ? "the store" : undefined;
  if (error.reason === "WORKFLOWS_UNAVAILABLE") return "Temporal";
  if (error.reason === "STORE_REFUSES") return undefined;
  return error.retryable ? "the store" : undefined;
}

/** Whether an operator has to correct rights or credentials before the store can be set up. */
function isRefusal(error: unknown): boolean {
  if (error instanceof DynamoDBServiceException) return true;
  if (error instanceof DomainError) return error.reason === "STORE_REFUSES";
  return error instanceof Error && error.name === "CredentialsProviderError";
}
