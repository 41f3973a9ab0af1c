/** All activities of a worker. */
import { log } from "@temporalio/activity";
import type { Deps } from "../src/app/ports/deps.ts";
import { bulkGrantActivities } from "./bulk-grants.ts";
import { bulkSourceActivities } from "./bulk-sources.ts";
import { expiryNoticeActivities } from "./expiry-notices.ts";
import { toFailure, unexpectedMessage } from "./failures.ts";
import { longRunningActivities } from "./long-running.ts";
import { monthEndActivities } from "./month-ends.ts";
import { purgeActivities } from "./purges.ts";
import { type Observers, reconcilerActivities } from "./reconciler.ts";
import { reservationActivities } from "./reservations.ts";

/** The dependencies of the activities. */
interface ActivityDeps extends Observers {
  readonly deps: Deps;
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
  ...reservationActivities(deps, observers.onDone),
  ...reconcilerActivities(deps, observers),
  ...longRunningActivities(deps),
  ...monthEndActivities(deps),
  ...expiryNoticeActivities(deps),
  ...purgeActivities(deps),
  ...bulkGrantActivities(deps),
  ...bulkSourceActivities(deps),
});

/** Runs an activity and turns its error into a failure. Logs an unexpected error. */
async function guarded(activity: (...args: unknown[]) => Promise<unknown>, args: unknown[]) {
  try {
    return await activity(...args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure.message === unexpectedMessage) log.error(unexpectedMessage, { err: error });
    throw failure;
  }
}
