import { log } from "@temporalio/activity";
import type { Deps } from "../src/app/ports/deps.ts";
import type { Reservation } from "../src/domain/reservation.ts";
import { toFailure, unexpectedMessage } from "./failures.ts";
import { longRunningActivities } from "./long-running.ts";
import { purgeActivities } from "./purges.ts";
import { reservationActivities } from "./reservations.ts";

/** What the activities stand on. */
interface ActivityDeps {
  readonly deps: Deps;
  /** Told of every reservation that was granted; once more if the answer got lost. */
  readonly onDone: (row: Reservation) => void;
}

export type Activities = ReturnType<typeof activities>;

/** Everything a worker does for workflows. Throws only failures that may stand in a history. */
export function createActivities(given: ActivityDeps): Activities {
  const entries = Object.entries(activities(given)).map(([name, activity]) => [
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

async function guarded(activity: (...args: unknown[]) => Promise<unknown>, args: unknown[]) {
  try {
    return await activity(...args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure.message === unexpectedMessage) log.error(unexpectedMessage, { err: error });
    throw failure;
  }
}
