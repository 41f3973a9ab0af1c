/** The activities that notify members of points that expire soon. */
import { log } from "@temporalio/activity";
import {
  type NotifyShardProgress,
  notifyExpiringInShard,
  readAnnouncedMonth,
} from "../src/app/points/notify-expiring.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import type {
  AnnouncedMonth,
  NotifyShardInput,
  NotifyShardResult,
} from "../src/contract/notices.ts";
import { check } from "./checks.ts";
import { runStep } from "./steps.ts";

/** Each of these activities may be repeated. */
export function expiryNoticeActivities(deps: Deps) {
  return {
    /** Returns the month of the points that members are notified of now, if any. */
    async readAnnouncedMonth(input: { readonly program_id: string }): Promise<AnnouncedMonth> {
      return readAnnouncedMonth(deps, check(input, { program_id: "string" }).program_id);
    },

    /** Notifies the members of a shard, for one step. A retry continues from the last heartbeat. */
    async notifyExpiring(input: NotifyShardInput): Promise<NotifyShardResult> {
      const fields = { program_id: "string", shard: "number", month: "string", cursor: "string?" };
      const { program_id, shard, month, cursor } = check(input, fields);
      return runStep<NotifyShardProgress, NotifyShardResult>(
        cursor === undefined ? {} : { cursor },
        (from, shouldContinue) =>
          notifyExpiringInShard(
            deps,
            { program_id, shard, month, ...from },
            shouldContinue,
            (userId, err) =>
              log.warn("could not notify of points that expire soon", {
                programId: program_id,
                userId,
                err,
              }),
          ),
      );
    },
  };
}
