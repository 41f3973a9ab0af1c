/** The activities that purge what a deleted target has left. */
import type { Deps } from "../src/app/ports/deps.ts";
import { endPurge, purgeReactions, purgeUnread } from "../src/app/reactions/purge-target.ts";
import type { PurgeReactionsInput, TargetKey } from "../src/contract/purges.ts";
import { check } from "./checks.ts";

/** Each of these activities may be repeated. */
export function purgeActivities(deps: Deps) {
  return {
    /** Returns the kinds whose reactions are to be purged. Purges unread groups that are left. */
    async removeUnread(input: TargetKey): Promise<string[]> {
      const { type, id } = check(input, targetFields);
      return purgeUnread(deps, { type, id });
    },

    /** Purges a page of reactions. Returns whether there may be more. */
    async removeReactions(input: PurgeReactionsInput): Promise<boolean> {
      const { type, id, kind } = check(input, { ...targetFields, kind: "string" });
      return purgeReactions(deps, { type, id }, kind);
    },

    /** The last activity: records that the purge has ended. */
    async endPurge(input: TargetKey): Promise<void> {
      const { type, id } = check(input, targetFields);
      await endPurge(deps, { type, id });
    },
  };
}

const targetFields = { type: "string", id: "string" };
