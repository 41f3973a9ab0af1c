/** All activities of a worker. */
import { log } from "@temporalio/activity";
import type { Deps } from "../src/app/ports/deps.ts";
import type { Observers } from "../src/app/ports/observers.ts";
import { DomainError } from "../src/domain/errors.ts";
import { bulkGrantActivities } from "./bulk-grants.ts";
import { bulkSourceActivities } from "./bulk-sources.ts";
import { exportActivities } from "./exports.ts";
import { toFailure, unexpectedMessage } from "./failures.ts";
import { holdActivities } from "./holds.ts";
import { liabilityReportActivities } from "./liability-reports.ts";
import { monthEndActivities } from "./month-ends.ts";
import { noticeActivities } from "./notices.ts";
import type { ApproverOf } from "./operators.ts";
import { purgeActivities } from "./purges.ts";
import { reconcilerActivities } from "./reconciler.ts";
import { reservationActivities } from "./reservations.ts";
import { verificationActivities } from "./verifications.ts";

/** The dependencies of the activities. */
interface ActivityDeps extends Observers {
  readonly deps: Deps;
  /** Who may approve a bulk grant by an Update: the subject by the name. Absent: nobody. */
  readonly approverOf?: ApproverOf;
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

const activities = ({ deps, approverOf, ...observers }: ActivityDeps) => ({
  ...reservationActivities(deps, observers),
  ...holdActivities(deps),
  ...reconcilerActivities(deps, observers),
  ...monthEndActivities(deps),
  ...noticeActivities(deps),
  ...verificationActivities(deps),
  ...exportActivities(deps),
  ...liabilityReportActivities(deps),
  ...purgeActivities(deps),
  ...bulkGrantActivities(deps, approverOf, observers.onBlock),
  ...bulkSourceActivities(deps, approverOf),
});

/** Runs an activity and turns its error into a failure. Logs what the failure does not say. */
async function guarded(activity: (...args: unknown[]) => Promise<unknown>, args: unknown[]) {
  try {
    return await activity(...args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure.message === unexpectedMessage) log.error(unexpectedMessage, { err: error });
    else if (error instanceof DomainError && error.cause)
      log.warn(error.message, { err: error.cause });
    throw failure;
  }
}
