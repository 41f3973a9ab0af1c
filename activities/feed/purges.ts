/** The activities that purge what a deleted target has left. */

import type { PurgeReactionsInput } from "../../src/feed/contract/purges.ts";
import {
  endPurge,
  purgeEvents,
  purgeReactions,
  readKindsToPurge,
} from "../../src/feed/use-cases/reactions/purge-target.ts";
import type { Deps } from "../../src/hub/deps.ts";
import type { TargetName } from "../../src/platform/words/target-name.ts";
import { check } from "../checks.ts";

/** Each of these activities may be repeated. */
export function purgeActivities(deps: Deps) {
  return {
    /** Returns the kinds whose reactions are to be purged. */
    async readKindsToPurge(input: TargetName): Promise<string[]> {
      const { type, id } = check(input, targetFields);
      return readKindsToPurge(deps, { type, id });
    },

    /** Purges a page of reactions. Returns whether there may be more. */
    async purgeReactions(input: PurgeReactionsInput): Promise<boolean> {
      const { type, id, kind } = check(input, { ...targetFields, kind: "string" });
      return purgeReactions(deps, { type, id }, kind);
    },

    /** Purges a page of owners with their events. Returns whether there may be more. */
    async purgeEvents(input: TargetName): Promise<boolean> {
      const { type, id } = check(input, targetFields);
      return purgeEvents(deps, { type, id });
    },

    /** The last activity: records that the purge has ended. */
    async endPurge(input: TargetName): Promise<void> {
      const { type, id } = check(input, targetFields);
      await endPurge(deps, { type, id });
    },
  };
}

const targetFields = { type: "string", id: "string" };
