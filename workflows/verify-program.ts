/** The workflow that verifies every account of a program against its ledger. */
import {
  continueAsNew,
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  addReports,
  emptyReport,
  reportQuery,
  type SegmentLeft,
  type VerificationReport,
  type VerifyProgramInput,
  verifySegments,
} from "../src/contract/verifications.ts";
import { orRefusal } from "./failures.ts";
import { workOn } from "./parts.ts";
import { sweepTiming } from "./timing.ts";

/** Returns the report so far. */
export const report = defineQuery<VerificationReport>(reportQuery);

const { verifySegment } = proxyActivities<Activities>(sweepTiming.verifySegment);

/** Compares every account of a program with its ledger and reports the accounts that differ. */
export async function verifyProgram(input: VerifyProgramInput): Promise<VerificationReport> {
  const { program_id, so_far } = input;
  let total = so_far?.report ?? emptyReport;
  setHandler(report, () => total);
  const segments: readonly SegmentLeft[] =
    so_far?.segments ?? Array.from({ length: verifySegments }, (_, segment) => ({ segment }));
  const left = await workOn(segments, verifySegments, async (part) => {
    const result = await orRefusal(
      verifySegment({ program_id, segments: verifySegments, ...part }),
    );
    total = addReports(total, result);
    const { accounts, wrong, failed } = total;
    setCurrentDetails(
      `Verified ${accounts} accounts; ${wrong} differ, ${failed} could not be verified.`,
    );
    return result.cursor;
  });
  if (left.length > 0) {
    const so_far = { report: total, segments: left };
    await continueAsNew<typeof verifyProgram>({ program_id, so_far });
  }
  return total;
}
