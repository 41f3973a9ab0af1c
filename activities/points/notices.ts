/** The activities that notify members of points that expire soon. */
import { log } from "@temporalio/activity";
import {
  type NotifyProgress,
  notifyExpiringInShard,
  readAnnouncedMonth,
} from "../../src/feed/use-cases/notifications/notify-expiring.ts";
import type { Deps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { formatMonth } from "../../src/platform/words/month.ts";
import type { AnnouncedMonth, NotifyShardResult } from "../../src/points/contract/notices.ts";
import { notifyShardInput, programInput } from "../../src/points/contract/payloads.ts";
import { checked } from "../checked.ts";
import { runStep } from "../steps.ts";

/** Each of these activities may be repeated. */
export function noticeActivities(deps: Deps, observers: Pick<Observers, "onFailed">) {
  return {
    /** Returns the month of the points that members are notified of now, if any. */
    readAnnouncedMonth: checked([programInput], async ({ programId }): Promise<AnnouncedMonth> => {
      const month = await readAnnouncedMonth(deps, programId);
      return month === undefined ? {} : { month: formatMonth(month) };
    }),

    /** Notifies the members of a shard, for one step. A retry continues from the last heartbeat. */
    notifyExpiring: checked([notifyShardInput], async (input): Promise<NotifyShardResult> => {
      const { programId, shard, month, ...start } = input;
      const range = { programId, shard, month };
      const onFailed = (_userId: string, err: unknown) => {
        observers.onFailed("notice", err instanceof DomainError ? err.reason : "INTERNAL");
        log.warn("could not notify of points that expire soon", { programId, err });
      };
      return runStep<NotifyProgress, NotifyProgress>(start, (from, shouldContinue) =>
        notifyExpiringInShard(deps, { ...range, ...from }, shouldContinue, onFailed),
      );
    }),
  };
}
