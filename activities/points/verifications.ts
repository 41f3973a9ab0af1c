/** The activity that verifies accounts against their ledgers, and repairs them if requested. */
import { log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import type {
  VerifySegmentInput,
  VerifySegmentResult,
} from "../../src/points/contract/verifications.ts";
import type { RepairedAccount } from "../../src/points/use-cases/repair-account.ts";
import { type VerifyProgress, verifySegment } from "../../src/points/use-cases/verify-segment.ts";
import { check } from "../checks.ts";
import { runStep } from "../steps.ts";

export function verificationActivities(deps: Deps) {
  return {
    /**
     * Verifies a segment, for one step, and with `repair` repairs the accounts that differ. A retry
     * continues from the last heartbeat. May be repeated: a repaired account has no differences.
     */
    async verifySegment(input: VerifySegmentInput): Promise<VerifySegmentResult> {
      const numbers = { segment: "number", segments: "number" };
      const fields = { program_id: "string", ...numbers, cursor: "string?", repair: "boolean?" };
      const { program_id: programId, segment, segments, repair, ...place } = check(input, fields);
      const part = { programId, segment, segments, repair: repair ?? false };
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("an account could not be verified", { programId, err });
      const onRepaired = ({ differences, restoredEntryNumbers }: RepairedAccount) =>
        log.warn("an account was repaired", { programId, differences, restoredEntryNumbers });
      return runStep<VerifyProgress, VerifyProgress>(place, (from, shouldContinue) =>
        verifySegment(deps, { ...part, ...from }, shouldContinue, { onFailed, onRepaired }),
      );
    },
  };
}
