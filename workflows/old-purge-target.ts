/** The last part of purges that started when a purge scanned the owner's history. */
import { continueAsNew, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { PurgeTargetInput } from "../src/contract.ts";
import { orRefusal } from "./failures.ts";

const { removeHistory } = proxyActivities<Activities>({
  startToCloseTimeout: "20 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/** The workflow that a run continues as. */
type RemoveTarget = (input: PurgeTargetInput) => Promise<void>;

/** Repeats the pages that the history of the run has; the next page is the last one. */
export async function removeOldHistory(input: PurgeTargetInput): Promise<void> {
  let { cursor } = input;
  do {
    const from = cursor === undefined ? {} : { cursor };
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<RemoveTarget>({ ...input, kinds: [], ...from });
    }
    ({ cursor } = await orRefusal(removeHistory({ ...input, ...from })));
  } while (cursor !== undefined);
}
