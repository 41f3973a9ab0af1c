/** The workflow of a hold: waits for its end, and has it released when its time has come. */
import { CancelledFailure } from "@temporalio/common";
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import type { HoldStep } from "../../src/holds/contract/holds.ts";
import type { HoldInput, HoldKey } from "../../src/holds/contract/payloads.ts";
import { detailsQuery, refreshSignal } from "../../src/platform/contract/record-runs.ts";
import { createCancellation } from "../cancellation.ts";
import { unwrapRefusal } from "../failures.ts";
import { leftMsUntil, requireFields } from "../inputs.ts";
import { changeTiming, holdTiming } from "../timing.ts";
import { detailsOf, upsertEnd } from "./hold-view.ts";

const refresh = defineSignal(refreshSignal);
const details = defineQuery<string>(detailsQuery);

const { timeOutHold } = proxyActivities<Activities>(holdTiming.timeOut);
const { releaseHold } = proxyActivities<Activities>(changeTiming.cancellation);

/**
 * Follows the record of a hold until it has ended, and has it released at its time. The record
 * decides. Cancelling the run releases the hold, unless it has ended already.
 *
 * A refusal fails the workflow, not retryable, with the reason as the type of the failure.
 */
export async function hold(input: HoldInput): Promise<HoldStep> {
  const ids = { program_id: "string", hold_id: "string", user_id: "string" } as const;
  const shown = { reason: "string?", cause: "string?", held_by: "string?" } as const;
  requireFields(input, { ...ids, points: "number", until: "time", ...shown });
  const run = createRun(input);
  const last = await CancellationScope.nonCancellable(run.follow);
  upsertEnd(last);
  // Temporal shows the run as Canceled only for this failure.
  if (run.isCancelRequested() && last.state === "RELEASED") {
    throw new CancelledFailure("the hold is released");
  }
  return last;
}

/** Sets the handlers of a run. To be called in the run's outermost scope. */
function createRun(input: HoldInput) {
  const { program_id, hold_id, user_id } = input;
  const key: HoldKey = { program_id, hold_id, user_id };
  let isRefreshRequested = false;
  let shown = "";
  const requestRefresh = () => {
    isRefreshRequested = true;
  };
  const cancellation = createCancellation(requestRefresh, (change) => releaseHold(key, change));
  setHandler(details, () => shown, { description: "What the hold waits for or has come to." });
  setHandler(refresh, requestRefresh, { description: "Reads the hold's record again." });

  /** Reads the record, which is released before if it is due or the run is to be cancelled. */
  async function readRecord(): Promise<HoldStep> {
    isRefreshRequested = false;
    await cancellation.carryOut();
    return unwrapRefusal(timeOutHold(key));
  }

  return {
    isCancelRequested: cancellation.isRequested,
    async follow(): Promise<HoldStep> {
      for (;;) {
        const step = await readRecord();
        shown = detailsOf(input, step);
        setCurrentDetails(shown);
        if (step.state !== "HELD") {
          await condition(allHandlersFinished);
          return step;
        }
        // The clock of Temporal may be ahead of that of the store.
        await condition(
          () => isRefreshRequested,
          Math.max(leftMsUntil(step.until), holdTiming.minWaitMs),
        );
      }
    },
  };
}
