import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { PurgeTargetInput } from "../src/contract.ts";
import { orRefusal } from "./failures.ts";

/** A page takes about a second. One that a dead worker had is begun again after this long. */
const { removeUnread, removeReactions, removeHistory } = proxyActivities<Activities>({
  startToCloseTimeout: "20 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/**
 * Removes what a deleted target has left: first what is unread, which a badge counts, then the
 * reactions of one kind after another, then what was read. Run twice, it finds nothing to do.
 */
export async function removeTarget({
  type,
  id,
  owner: ownerId,
  ...left
}: PurgeTargetInput): Promise<void> {
  const target = { type, id };
  const asNew = (rest: Pick<PurgeTargetInput, "kinds" | "cursor">) =>
    continueAsNew<typeof removeTarget>({ ...target, owner: ownerId, ...rest });
  setCurrentDetails("Removes what is unread.");
  let kinds = left.kinds ?? (await orRefusal(removeUnread(target)));
  for (let [kind] = kinds; kind !== undefined; [kind] = kinds) {
    if (workflowInfo().continueAsNewSuggested) await asNew({ kinds });
    setCurrentDetails(`Removes reactions, page by page: ${kinds.join(", ")}.`);
    const more = await orRefusal(removeReactions({ ...target, kind }));
    if (!more) kinds = kinds.slice(1);
  }
  setCurrentDetails("Removes what was read, page by page.");
  let { cursor } = left;
  do {
    const from = cursor === undefined ? {} : { cursor };
    if (workflowInfo().continueAsNewSuggested) await asNew({ kinds, ...from });
    ({ cursor } = await orRefusal(removeHistory({ ...target, owner: ownerId, ...from })));
  } while (cursor !== undefined);
  setCurrentDetails("Nothing is left.");
}
