/** The activity that verifies accounts against their ledgers. */
import { log } from "@temporalio/activity";
import { type VerifyProgress, verifySegment } from "../src/app/points/verify-segment.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import type { VerifySegmentInput, VerifySegmentResult } from "../src/contract/verifications.ts";
import { check } from "./checks.ts";
import { runStep } from "./steps.ts";

export function verificationActivities(deps: Deps) {
  return {
    /**
     * Verifies a segment, for one step. A retry continues from the last heartbeat. May be repeated.
     */
    async verifySegment(input: VerifySegmentInput): Promise<VerifySegmentResult> {
      const numbers = { segment: "number", segments: "number" };
      const fields = { program_id: "string", ...numbers, cursor: "string?" };
      const { program_id: programId, segment, segments, ...place } = check(input, fields);
      const part = { programId, segment, segments };
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("an account could not be verified", { programId, err });
      return runStep<VerifyProgress, VerifyProgress>(place, (from, shouldContinue) =>
        verifySegment(deps, { ...part, ...from }, shouldContinue, onFailed),
      );
    },
  };
}
