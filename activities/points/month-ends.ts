/** The activities of a month-end sweep. */
import { log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import { formatMonth } from "../../src/platform/words/month.ts";
import type { ExpireShardResult, MonthEndMonths } from "../../src/points/contract/month-ends.ts";
import {
  expireShardInput,
  monthEndRecord,
  programInput,
} from "../../src/points/contract/payloads.ts";
import {
  type ExpireProgress,
  expireDueInShard,
  readMonths,
} from "../../src/points/use-cases/expire-due.ts";
import { recordMonthEnd } from "../../src/points/use-cases/programs/month-ends.ts";
import { checked } from "../checked.ts";
import { runStep } from "../steps.ts";

/** Each of these activities may be repeated. */
export function monthEndActivities(deps: Deps) {
  return {
    /** Returns the month that has ended, and the month up to which points have expired. */
    readMonthEnd: checked([programInput], async ({ programId }): Promise<MonthEndMonths> => {
      const { ended, grantedUpTo } = await readMonths(deps, programId);
      return { month: formatMonth(ended), granted_up_to: formatMonth(grantedUpTo) };
    }),

    /** Keeps that the month end was whole, and how many accounts have failed in it. */
    recordMonthEnd: checked([monthEndRecord], async ({ programId, month, failed }) => {
      await recordMonthEnd(deps, programId, { month, failedCount: failed });
    }),

    /** Expires what is due in a shard, for one step. A retry continues from the last heartbeat. */
    expireShard: checked([expireShardInput], async (input): Promise<ExpireShardResult> => {
      const { programId, shard, ...start } = input;
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("could not expire what is due in an account", { programId, err });
      return runStep<ExpireProgress, ExpireProgress>(start, (from, shouldContinue) =>
        expireDueInShard(deps, { programId, shard, ...from }, shouldContinue, onFailed),
      );
    }),
  };
}
