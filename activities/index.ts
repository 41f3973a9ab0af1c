/** All activities of a worker. */
import { log } from "@temporalio/activity";
import type { Deps } from "../src/app/ports/deps.ts";
import type { Reservation } from "../src/domain/reservation.ts";
import { toFailure, unexpectedMessage } from "./failures.ts";
import { longRunningActivities } from "./long-running.ts";
import { purgeActivities } from "./purges.ts";
import { reservationActivities } from "./reservations.ts";

/** The dependencies of the activities. */
interface ActivityDeps {
  readonly deps: Deps;
  /** Called for every reservation that was granted; again if the activity is repeated. */
  readonly onDone: (row: Reservation) => void;
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

const activities = ({ deps, onDone }: ActivityDeps) => ({
  ...reservationActivities(deps, onDone),
  ...longRunningActivities(deps),
  ...purgeActivities(deps),
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
