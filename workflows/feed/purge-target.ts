/** The workflow that purges what a deleted target has left. */
import { continueAsNew, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { type PurgeTargetInput, purgeHowToEnd } from "../../src/feed/contract/purges.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { sweepTiming } from "../timing.ts";

const { readKindsToPurge, endPurge } = proxyActivities<Activities>(sweepTiming.purge);

const { purgeReactions, purgeEvents } = proxyActivities<Activities>(sweepTiming.purgePage);

/**
 * Purges the reactions to a deleted target, one kind after another, then the events about it, whose
 * notifications it ends. The delete itself has ended those of the target's owner. Read groups stay
 * until they expire, and lists skip them, so the cost does not follow the owner's history. May run
 * twice.
 */
export async function purgeTarget(input: PurgeTargetInput): Promise<void> {
  requireFields(input, { type: "string", id: "string", owner_id: "string" });
  const { type, id, owner_id } = input;
  const target = { type, id };
  showDetails(purgeHowToEnd, "Reads the kinds of the reactions.");
  let kinds = input.kinds ?? (await unwrapRefusal(readKindsToPurge(target)));
  for (let [kind] = kinds; kind !== undefined; [kind] = kinds) {
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof purgeTarget>({ ...target, owner_id, kinds });
    }
    showDetails(
      purgeHowToEnd,
      escapeMarkdown(`Purges reactions, page by page: ${kinds.join(", ")}.`),
    );
    const hasMore = await unwrapRefusal(purgeReactions({ ...target, kind }));
    if (!hasMore) kinds = kinds.slice(1);
  }
  showDetails(purgeHowToEnd, "Purges events, and ends the notifications of their owners.");
  while (await unwrapRefusal(purgeEvents(target))) {
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof purgeTarget>({ ...target, owner_id, kinds });
    }
  }
  await unwrapRefusal(endPurge(target));
  showDetails(purgeHowToEnd, "No reactions and events are left.");
}
