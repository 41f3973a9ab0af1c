/** The full pass after the loss of a namespace: starts a run for every pending reservation. */
import { continueAsNew, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import type { StartCounts, StartProgress } from "../../src/reservations/contract/payloads.ts";
import { fullReconcileHowToEnd } from "../../src/reservations/contract/reconciler.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { reconcilerTiming } from "../timing.ts";

const { startAllRuns } = proxyActivities<Activities>(reconcilerTiming.startAllRuns);

const beginning: StartProgress = { started: 0, failed: 0, failures: [] };

/** Starts missing runs, step by step. May run twice. `progress` is set by continue-as-new. */
export async function startRuns(progress: StartProgress = beginning): Promise<StartCounts> {
  let step = progress;
  do {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof startRuns>(step);
    step = await unwrapRefusal(startAllRuns(step));
    const { started, failed } = step;
    showDetails(
      fullReconcileHowToEnd,
      `Started or found ${started} runs; ${failed} could not be started.`,
    );
  } while (step.cursor !== undefined);
  const { started, failed, failures } = step;
  return { started, failed, failures };
}
