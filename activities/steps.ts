/** Runs the steps of activities on many records: heartbeats, the time limit, and where to go on. */
import { activityInfo, Context } from "@temporalio/activity";
import { camelCased, type SnakeCased, snakeCased } from "../src/platform/contract/payload-names.ts";
import type { Milliseconds } from "../src/platform/words/units.ts";
import { steps } from "../workflows/timing.ts";

/**
 * Runs one step: from the progress of the last heartbeat of an earlier attempt, or from `start`,
 * until `limitMs` are over, the activity is cancelled or the worker shuts down. Heartbeats continue
 * while a page takes long. The progress of an attempt that fails is kept for the next one.
 *
 * Heartbeats contain the progress, and the history the result, in snake_case.
 */
export async function runStep<Progress, Result>(
  start: Partial<Progress>,
  run: (
    from: Partial<Progress>,
    shouldContinue: (progress: Progress) => boolean,
  ) => Promise<Result>,
  limitMs: Milliseconds = steps.limitMs,
): Promise<SnakeCased<Result>> {
  const context = Context.current();
  const kept = activityInfo().heartbeatDetails;
  const from = kept === undefined ? start : camelCased<Partial<Progress>>(kept);
  const limit = performance.now() + limitMs;
  let latest: unknown = kept ?? snakeCased(start);
  const work = run(from, (progress) => {
    latest = snakeCased(progress);
    context.heartbeat(latest);
    return performance.now() < limit && !context.cancellationSignal.aborted;
  });
  return snakeCased(await heartbeatWhile(work, () => latest));
}

/** Sends heartbeats with the latest progress, if any is kept, until the work ends. */
export async function heartbeatWhile<T>(
  work: Promise<T>,
  progress: () => unknown = () => undefined,
): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(progress()), steps.heartbeatMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
