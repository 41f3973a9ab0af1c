/** The workflow that purges what a deleted target has left. */
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { PurgeTargetInput } from "../src/contract.ts";
import { orRefusal } from "./failures.ts";

/** A page takes about a second. After the death of a worker, it is repeated after this timeout. */
const { removeUnread, removeReactions, removeHistory } = proxyActivities<Activities>({
  startToCloseTimeout: "20 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/**
 * Purges what a deleted target has left: first its unread groups, because the badge counts them,
 * then its reactions, one kind after another, then its read groups. May run twice.
 */
export async function removeTarget({
  type,
  id,
  owner: ownerId,
  kinds: kindsLeft,
  cursor: start,
}: PurgeTargetInput): Promise<void> {
  const target = { type, id };
  const continueWith = (rest: Pick<PurgeTargetInput, "kinds" | "cursor">) =>
    continueAsNew<typeof removeTarget>({ ...target, owner: ownerId, ...rest });
  setCurrentDetails("Purges unread groups.");
  let kinds = kindsLeft ?? (await orRefusal(removeUnread(target)));
  for (let [kind] = kinds; kind !== undefined; [kind] = kinds) {
    if (workflowInfo().continueAsNewSuggested) await continueWith({ kinds });
    setCurrentDetails(`Purges reactions, page by page: ${kinds.join(", ")}.`);
    const hasMore = await orRefusal(removeReactions({ ...target, kind }));
    if (!hasMore) kinds = kinds.slice(1);
  }
  setCurrentDetails("Purges read groups, page by page.");
  let cursor = start;
  do {
    const from = cursor === undefined ? {} : { cursor };
    if (workflowInfo().continueAsNewSuggested) await continueWith({ kinds, ...from });
    ({ cursor } = await orRefusal(removeHistory({ ...target, owner: ownerId, ...from })));
  } while (cursor !== undefined);
  setCurrentDetails("Nothing is left.");
}
