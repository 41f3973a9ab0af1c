/** The activities that process many records and send heartbeats with their progress. */
import { log } from "@temporalio/activity";
import { type ExpireShardProgress, expireDueInShard } from "../src/app/points/expire-due.ts";
import { verifySegment } from "../src/app/points/verify-segment.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import type { ExpireShardInput, ExpireShardResult } from "../src/contract/month-ends.ts";
import type { VerifySegmentInput, VerifySegmentResult } from "../src/contract/verifications.ts";
import { check } from "./checks.ts";
import { runStep } from "./steps.ts";

/** Each of these activities may be repeated. */
export function longRunningActivities(deps: Deps) {
  return {
    /** Expires what is due in a shard, for one step. A retry continues from the last heartbeat. */
    async settleShard(input: ExpireShardInput): Promise<ExpireShardResult> {
      const fields = { program: "string", shard: "number", cursor: "string?" };
      const { program: programId, shard } = check(input, fields);
      return runStep<ExpireShardProgress, ExpireShardResult>(
        cursorOf(input),
        (from, shouldContinue) =>
          expireDueInShard(
            deps,
            { program: programId, shard, ...from },
            shouldContinue,
            (userId, err) =>
              log.warn("could not expire what is due in an account", { programId, userId, err }),
          ),
      );
    },

    /** Verifies a segment, for one step. A retry continues from the last heartbeat. */
    async verifySegment(input: VerifySegmentInput): Promise<VerifySegmentResult> {
      const numbers = { segment: "number", segments: "number" };
      const fields = { program: "string", ...numbers, cursor: "string?" };
      const { program: programId, segment, segments } = check(input, fields);
      return runStep<VerifySegmentResult, VerifySegmentResult>(
        cursorOf(input),
        (from, shouldContinue) =>
          verifySegment(
            deps,
            { program: programId, segment, segments, ...from },
            shouldContinue,
            (userId, err) =>
              log.warn("an account could not be verified", { programId, userId, err }),
          ),
      );
    },
  };
}

const cursorOf = ({ cursor }: { readonly cursor?: string }) =>
  cursor === undefined ? {} : { cursor };
