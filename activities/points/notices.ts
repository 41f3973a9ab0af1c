/** The activities that notify members of points that expire soon. */
import { log } from "@temporalio/activity";
import {
  type NotifyProgress,
  notifyExpiringInShard,
  readAnnouncedMonth,
} from "../../src/feed/use-cases/notifications/notify-expiring.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { formatMonth, parseMonth } from "../../src/platform/words/month.ts";
import type {
  AnnouncedMonth,
  NotifyShardInput,
  NotifyShardResult,
} from "../../src/points/contract/notices.ts";
import { check } from "../checks.ts";
import { runStep } from "../steps.ts";

/** Each of these activities may be repeated. */
export function noticeActivities(deps: Deps) {
  return {
    /** Returns the month of the points that members are notified of now, if any. */
    async readAnnouncedMonth(input: { readonly program_id: string }): Promise<AnnouncedMonth> {
      const { program_id: programId } = check(input, { program_id: "string" });
      const month = await readAnnouncedMonth(deps, programId);
      return month === undefined ? {} : { month: formatMonth(month) };
    },

    /** Notifies the members of a shard, for one step. A retry continues from the last heartbeat. */
    async notifyExpiring(input: NotifyShardInput): Promise<NotifyShardResult> {
      const fields = { program_id: "string", shard: "number", month: "string", cursor: "string?" };
      const { program_id: programId, shard, month, ...place } = check(input, fields);
      const range = { programId, shard, month: parseMonth(month) };
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("could not notify of points that expire soon", { programId, err });
      return runStep<NotifyProgress, NotifyProgress>(place, (from, shouldContinue) =>
        notifyExpiringInShard(deps, { ...range, ...from }, shouldContinue, onFailed),
      );
    },
  };
}
