/** All activities of a worker. */
import { log } from "@temporalio/activity";
import type { WorkerDeps } from "../src/hub/deps.ts";
import type { Observers } from "../src/hub/observers.ts";
import { markLogged } from "../src/platform/ports/logged-failures.ts";
import { DomainError } from "../src/platform/words/errors.ts";
import { bulkGrantActivities } from "./bulk-grants/bulk-grants.ts";
import { bulkSourceActivities } from "./bulk-grants/bulk-sources.ts";
import { toFailure, unexpectedMessage } from "./failures.ts";
import { purgeActivities } from "./feed/purges.ts";
import { holdActivities } from "./holds/holds.ts";
import { jobActivities } from "./points/jobs.ts";
import { monthEndActivities } from "./points/month-ends.ts";
import { noticeActivities } from "./points/notices.ts";
import { reconcilerActivities } from "./reservations/reconciler.ts";
import { reservationActivities } from "./reservations/reservations.ts";

/** The dependencies of the activities. */
interface ActivityDeps extends Observers {
  readonly deps: WorkerDeps;
}

export type Activities = ReturnType<typeof activities>;

/** Returns the activities of a worker. They throw only failures that a history may contain. */
export function createActivities(dependencies: ActivityDeps): Activities {
  const entries = Object.entries(activities(dependencies)).map(([name, activity]) => [
    name,
    (...args: unknown[]) => guarded(activity as (...args: unknown[]) => Promise<unknown>, args),
  ]);
  return Object.fromEntries(entries);
}

const activities = ({ deps, ...observers }: ActivityDeps) => ({
  ...reservationActivities(deps, observers),
  ...holdActivities(deps),
  ...reconcilerActivities(deps, observers),
  ...monthEndActivities(deps),
  ...noticeActivities(deps, observers),
  ...jobActivities(deps),
  ...purgeActivities(deps),
  ...bulkGrantActivities(deps, observers),
  ...bulkSourceActivities(deps, observers),
});

/**
 * Runs an activity and turns its error into a failure. A failed attempt has one line of the log,
 * which also says what the failure does not: the SDK's own would be a second one. What the SDK and
 * an activity throw as failures on purpose is left to the SDK.
 */
async function guarded(activity: (...args: unknown[]) => Promise<unknown>, args: unknown[]) {
  try {
    return await activity(...args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure === error) throw failure;
    if (!(error instanceof DomainError)) log.error(unexpectedMessage, { err: error });
    else if (error.cause) log.warn(error.message, { reason: error.reason, err: error.cause });
    else log.warn("an activity has failed", { reason: error.reason });
    markLogged(failure);
    throw failure;
  }
}
