/** The workflow that purges what a deleted target has left. */
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { PurgeTargetInput } from "../src/contract/purges.ts";
import { orRefusal } from "./failures.ts";
import { sweepTiming } from "./timing.ts";

const { removeUnread, removeReactions, endPurge } = proxyActivities<Activities>(
  sweepTiming.purgePage,
);

/**
 * Purges the reactions to a deleted target, one kind after another. The delete itself has settled
 * the unread groups. Read groups stay until they expire, and lists skip them, so the cost does not
 * follow the owner's history. May run twice.
 */
export async function removeTarget(input: PurgeTargetInput): Promise<void> {
  const { type, id, owner: ownerId, kinds: kindsLeft } = input;
  const target = { type, id };
  setCurrentDetails("Reads the kinds of the reactions.");
  let kinds = kindsLeft ?? (await orRefusal(removeUnread(target)));
  for (let [kind] = kinds; kind !== undefined; [kind] = kinds) {
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof removeTarget>({ ...target, owner: ownerId, kinds });
    }
    setCurrentDetails(`Purges reactions, page by page: ${kinds.join(", ")}.`);
    const hasMore = await orRefusal(removeReactions({ ...target, kind }));
    if (!hasMore) kinds = kinds.slice(1);
  }
  await orRefusal(endPurge(target));
  setCurrentDetails("No reactions are left.");
}
