/** The workflow that verifies every account of a program, and repairs them if requested. */
import {
  continueAsNew,
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { counted, nounFor } from "../../src/platform/words/counted.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import {
  addReports,
  emptyReport,
  reportQuery,
  type SegmentLeft,
  type VerificationReport,
  type VerifyProgramInput,
  verifySegments,
} from "../../src/points/contract/verifications.ts";
import { orRefusal, requireTexts } from "../failures.ts";
import { namesOf, workOn } from "../parts.ts";
import { sweepTiming } from "../timing.ts";

/** Returns the report so far. */
export const report = defineQuery<VerificationReport>(reportQuery);

const { verifySegment } = proxyActivities<Activities>(sweepTiming.verifySegment);

/**
 * Compares every account of a program with its ledger and reports the accounts that differ. With
 * `repair` it repairs them; an account whose repair is refused is named and left as it is.
 */
export async function verifyProgram(input: VerifyProgramInput): Promise<VerificationReport> {
  requireTexts(input, ["program_id"]);
  const { program_id, repair = false, so_far } = input;
  let total = so_far?.report ?? emptyReport;
  setHandler(report, () => total);
  const segments: readonly SegmentLeft[] =
    so_far?.segments ?? Array.from({ length: verifySegments }, (_, segment) => ({ segment }));
  const left = await workOn(segments, verifySegments, async (part) => {
    const result = await orRefusal(
      verifySegment({ program_id, segments: verifySegments, ...(repair && { repair }), ...part }),
    );
    total = addReports(total, result);
    setCurrentDetails(escapeMarkdown(detailsOf(total, repair)));
    return result.cursor;
  });
  if (left.length > 0) {
    const so_far = { report: total, segments: left };
    await continueAsNew<typeof verifyProgram>({ program_id, ...(repair && { repair }), so_far });
  }
  return total;
}

function detailsOf(total: VerificationReport, repair: boolean): string {
  const { accounts, wrong, repaired = 0, failed } = total;
  const names = failed > 0 ? `: ${namesOf(total)}` : "";
  return repair
    ? `Verified ${counted(accounts, "account")}; ${wrong} differed, ${repaired} repaired, ` +
        `${failed} could not be verified or repaired${names}.`
    : `Verified ${counted(accounts, "account")}; ` +
        `${wrong} ${nounFor(wrong, "differs", "differ")}, ` +
        `${failed} could not be verified${names}.`;
}
