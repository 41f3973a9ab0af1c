/** The activities that purge what a deleted target has left. */

import { purgeReactionsInput, targetInput } from "../../src/feed/contract/payloads.ts";
import {
  endPurge,
  purgeEvents,
  purgeReactions,
  readKindsToPurge,
} from "../../src/feed/use-cases/reactions/purge-target.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { checked } from "../checked.ts";
import { heartbeatWhile } from "../steps.ts";

/** Each of these activities may be repeated. */
export function purgeActivities(deps: Deps) {
  return {
    /** Returns the kinds whose reactions are to be purged. */
    readKindsToPurge: checked([targetInput], (target) => readKindsToPurge(deps, target)),

    /** Purges a page of reactions. Returns whether there may be more. */
    purgeReactions: checked([purgeReactionsInput], ({ kind, ...target }) =>
      heartbeatWhile(purgeReactions(deps, target, kind)),
    ),

    /** Purges a page of owners with their events. Returns whether there may be more. */
    purgeEvents: checked([targetInput], (target) => heartbeatWhile(purgeEvents(deps, target))),

    /** The last activity: records that the purge has ended. */
    endPurge: checked([targetInput], (target) => endPurge(deps, target)),
  };
}
