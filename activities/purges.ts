/** The activities that purge what a deleted target has left. */
import type { Deps } from "../src/app/ports/deps.ts";
import { purgeHistory, purgeReactions, purgeUnread } from "../src/app/reactions/purge-target.ts";
import type {
  PurgeHistoryInput,
  PurgeHistoryResult,
  PurgeReactionsInput,
  TargetKey,
} from "../src/contract.ts";
import { check } from "./checks.ts";

/** Each of these activities may be repeated. */
export function purgeActivities(deps: Deps) {
  return {
    /** Purges the unread groups. Returns the kinds whose reactions are to be purged. */
    async removeUnread(input: TargetKey): Promise<string[]> {
      const { type, id } = check(input, targetFields);
      return purgeUnread(deps, { type, id });
    },

    /** Purges a page of reactions. Returns whether there may be more. */
    async removeReactions(input: PurgeReactionsInput): Promise<boolean> {
      const { type, id, kind } = check(input, { ...targetFields, kind: "string" });
      return purgeReactions(deps, { type, id }, kind);
    },

    /** Purges a page of read groups. Returns the cursor of the next page. */
    async removeHistory(input: PurgeHistoryInput): Promise<PurgeHistoryResult> {
      const fields = { ...targetFields, owner: "string", cursor: "string?" };
      const { type, id, owner: ownerId, cursor: from } = check(input, fields);
      const cursor = await purgeHistory(deps, ownerId, { type, id }, from);
      return cursor === undefined ? {} : { cursor };
    },
  };
}

const targetFields = { type: "string", id: "string" };
