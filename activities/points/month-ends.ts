/** The activities of a month-end sweep. */
import { log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import { formatMonth, parseMonth } from "../../src/platform/words/month.ts";
import type {
  ExpireShardInput,
  ExpireShardResult,
  MonthEndMonths,
  MonthEndRecord,
} from "../../src/points/contract/month-ends.ts";
import {
  type ExpireProgress,
  expireDueInShard,
  readMonths,
} from "../../src/points/use-cases/expire-due.ts";
import { recordMonthEnd } from "../../src/points/use-cases/programs/month-ends.ts";
import { check } from "../checks.ts";
import { runStep } from "../steps.ts";

/** Each of these activities may be repeated. */
export function monthEndActivities(deps: Deps) {
  return {
    /** Returns the month that has ended, and the month up to which points have expired. */
    async readMonthEnd(input: { readonly program_id: string }): Promise<MonthEndMonths> {
      const { program_id: programId } = check(input, { program_id: "string" });
      const { ended, grantedUpTo } = await readMonths(deps, programId);
      return { month: formatMonth(ended), granted_up_to: formatMonth(grantedUpTo) };
    },

    /** Keeps that the month end was whole, and how many accounts have failed in it. */
    async recordMonthEnd(input: MonthEndRecord): Promise<void> {
      const fields = { program_id: "string", month: "string", failed: "number" };
      const { program_id: programId, month, failed } = check(input, fields);
      const monthEnd = { month: parseMonth(month), failedCount: failed };
      await recordMonthEnd(deps, programId, monthEnd);
    },

    /** Expires what is due in a shard, for one step. A retry continues from the last heartbeat. */
    async expireShard(input: ExpireShardInput): Promise<ExpireShardResult> {
      const fields = { program_id: "string", shard: "number", cursor: "string?" };
      const { program_id: programId, shard, ...place } = check(input, fields);
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("could not expire what is due in an account", { programId, err });
      return runStep<ExpireProgress, ExpireProgress>(place, (from, shouldContinue) =>
        expireDueInShard(deps, { programId, shard, ...from }, shouldContinue, onFailed),
      );
    },
  };
}
