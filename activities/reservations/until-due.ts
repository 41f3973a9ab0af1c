/** Holds a grant in the memory of a worker until it is due. */
import { Context, sleep } from "@temporalio/activity";
import { ApplicationFailure, ApplicationFailureCategory } from "@temporalio/common";
import type { Clock } from "../../src/platform/ports/clock.ts";
import type { Instant } from "../../src/platform/words/month.ts";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import { grantTiming } from "../../workflows/timing.ts";

const { clockMs } = grantTiming;

/**
 * Returns once `clock` has reached `time`. Throws CLOCK_OFF, and when the worker stops a failure
 * that Temporal retries on another worker.
 */
export async function holdUntil(clock: Clock, time: Instant): Promise<void> {
  for (;;) {
    failIfStopping();
    const { wall } = await clock.now();
    if (wall >= time) return;
    const leftMs = time - wall;
    await sleep(Math.min(leftMs, Math.max(clockMs, leftMs / 2))).catch(() => {});
  }
}

/** Throws a failure that Temporal retries on another worker when this one stops. */
export function failIfStopping(): void {
  const { aborted } = Context.current().cancellationSignal;
  if (aborted) throw expected("WORKER_STOPPING", "the worker stops");
}

/** The failure of an attempt that is too early. Temporal starts the next one after `waitMs`. */
export const notDue = (executeTime: string, waitMs: Milliseconds): ApplicationFailure =>
  expected("NOT_DUE", `waits until ${executeTime}`, waitMs);

/**
 * A failure that is no error. Its category keeps it out of the worker's log and of the metric of
 * failed activities.
 */
export function expected(type: string, message: string, waitMs?: Milliseconds): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message,
    category: ApplicationFailureCategory.BENIGN,
    ...(waitMs !== undefined && { nextRetryDelay: waitMs }),
  });
  failure.stack = "";
  return failure;
}
