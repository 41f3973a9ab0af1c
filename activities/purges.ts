import type { Deps } from "../src/app/ports/deps.ts";
import { removeHistory, removeReactions, removeUnread } from "../src/app/reactions/purge-target.ts";
import type {
  RemoveHistoryInput,
  RemoveHistoryResult,
  RemoveReactionsInput,
  TargetKey,
} from "../src/contract.ts";
import { check } from "./checks.ts";

const key = { type: "string", id: "string" };

/** The activities that clear up behind a deleted target. Each may run again. */
export function removalActivities(deps: Deps) {
  return {
    /** Removes what is unread. The kinds of which there are reactions to remove. */
    async removeUnread(input: TargetKey): Promise<string[]> {
      const { type, id } = check(input, key);
      return removeUnread(deps, { type, id });
    },

    /** Removes a page of reactions. Whether there may be more. */
    async removeReactions(input: RemoveReactionsInput): Promise<boolean> {
      const { type, id, kind } = check(input, { ...key, kind: "string" });
      return removeReactions(deps, { type, id }, kind);
    },

    /** Removes a page of what was read. Where to go on. */
    async removeHistory(input: RemoveHistoryInput): Promise<RemoveHistoryResult> {
      const fields = { ...key, owner: "string", cursor: "string?" };
      const { type, id, owner, cursor: from } = check(input, fields);
      const cursor = await removeHistory(deps, owner, { type, id }, from);
      return cursor === undefined ? {} : { cursor };
    },
  };
}
