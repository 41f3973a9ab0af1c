/** The workflow that adds up what a program owes its members. */
import { continueAsNew, proxyActivities, setCurrentDetails, sleep } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { counted, nounFor } from "../../src/platform/words/counted.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import {
  addCounts,
  type LiabilityCounts,
  type LiabilityReportInput,
  type LiabilityReportResult,
  noCounts,
  reportSegments,
} from "../../src/points/contract/liability-reports.ts";
import type { SegmentLeft } from "../../src/points/contract/verifications.ts";
import { noTotals } from "../../src/points/rules/ledger.ts";
import { orRefusal, requireTexts } from "../failures.ts";
import { namesOf, workOn } from "../parts.ts";
import { reportTiming } from "../timing.ts";

const { reportSegment } = proxyActivities<Activities>(reportTiming.segment);
const { keepLiability } = proxyActivities<Activities>(reportTiming.keep);

/**
 * Adds up the accounts of a program as of the instant at which its report was asked for, and keeps
 * the sums in the record of the report. May run twice: the sums are the same.
 */
export async function liabilityReport(input: LiabilityReportInput): Promise<LiabilityReportResult> {
  requireTexts(input, ["program_id"]);
  const { so_far, ...name } = input;
  let counts = so_far?.counts ?? noCounts;
  const segments: readonly SegmentLeft[] =
    so_far?.segments ?? Array.from({ length: reportSegments }, (_, segment) => ({ segment }));
  if (!so_far) {
    setCurrentDetails(waiting);
    await sleep(reportTiming.lateEntriesMs);
  }
  const left = await workOn(segments, reportSegments, async (part) => {
    const result = await orRefusal(reportSegment({ ...name, segments: reportSegments, ...part }));
    counts = addCounts(counts, result);
    setCurrentDetails(accountsOf(counts));
    return result.cursor;
  });
  if (left.length > 0) {
    const so_far = { counts, segments: left };
    await continueAsNew<typeof liabilityReport>({ ...name, so_far });
  }
  const result = await orRefusal(keepLiability({ ...name, ...counts }));
  setCurrentDetails(detailsOf(result, counts));
  return result;
}

const waiting =
  "Waits until no entry of the instant of the report can be added any more, " +
  `${reportTiming.lateEntriesMs / 60_000} minutes. Then the accounts are read, ` +
  "in turn with other reports of the program.";

function accountsOf(counts: LiabilityCounts): string {
  const { accounts, members, failed } = counts;
  const names = failed > 0 ? `: ${escapeMarkdown(namesOf(counts))}` : "";
  return (
    `Read ${counted(accounts, "account")}, of which ${members} had points; ` +
    `${failed} failed${names}.`
  );
}

/** The names of the totals in the order of the domain: what was given, then what became of it. */
const totalNames = Object.keys(noTotals).map((name) => name.replace("Points", ""));

/** The report in Markdown. */
function detailsOf(result: LiabilityReportResult, counts: LiabilityCounts): string {
  const { as_of, since, outstanding_points, held, buckets, totals } = result;
  const were = (points: string) => nounFor(Number(points), "was", "were");
  const months = buckets.map(
    ({ month, expire_time, points }) => `| ${month} | ${expire_time} | ${points} |`,
  );
  const sums = totalNames.flatMap((name) => {
    const points = totals[`${name}_points`];
    return points === undefined ? [] : [`| ${name} | ${points} |`];
  });
  return [
    `As of ${as_of}, ${outstanding_points} ${nounFor(Number(outstanding_points), "point")} ` +
      `${were(outstanding_points)} outstanding` +
      `${held ? `, and ${held} more ${were(held)} held` : ""}. ` +
      accountsOf(counts),
    ["| granted in | expire | points |", "|---|---|---|", ...months].join("\n"),
    [`| ${since ? `since ${since}` : "of all time"} | points |`, "|---|---|", ...sums].join("\n"),
  ].join("\n\n");
}
