import type { Deps } from "../src/app/ports/deps.ts";
import { purgeHistory, purgeReactions, purgeUnread } from "../src/app/reactions/purge-target.ts";
import type {
  PurgeHistoryInput,
  PurgeHistoryResult,
  PurgeReactionsInput,
  TargetKey,
} from "../src/contract.ts";
import { check } from "./checks.ts";

const key = { type: "string", id: "string" };

/** The activities that clear up behind a deleted target. Each may run again. */
export function purgeActivities(deps: Deps) {
  return {
    /** Removes what is unread. The kinds of which there are reactions to remove. */
    async removeUnread(input: TargetKey): Promise<string[]> {
      const { type, id } = check(input, key);
      return purgeUnread(deps, { type, id });
    },

    /** Removes a page of reactions. Whether there may be more. */
    async removeReactions(input: PurgeReactionsInput): Promise<boolean> {
      const { type, id, kind } = check(input, { ...key, kind: "string" });
      return purgeReactions(deps, { type, id }, kind);
    },

    /** Removes a page of what was read. Where to go on. */
    async removeHistory(input: PurgeHistoryInput): Promise<PurgeHistoryResult> {
      const fields = { ...key, owner: "string", cursor: "string?" };
      const { type, id, owner: ownerId, cursor: from } = check(input, fields);
      const cursor = await purgeHistory(deps, ownerId, { type, id }, from);
      return cursor === undefined ? {} : { cursor };
    },
  };
}
