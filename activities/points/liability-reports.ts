/** The activities of a liability report. */
import { log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import { formatInstant, formatMonth } from "../../src/platform/words/month.ts";
import type {
  KeepLiabilityInput,
  LiabilityReportResult,
  ReportSegmentInput,
  ReportSegmentResult,
} from "../../src/points/contract/liability-reports.ts";
import type { CountedLiability, LiabilityResult } from "../../src/points/rules/liability.ts";
import { keepLiability } from "../../src/points/use-cases/liability-reports.ts";
import { type ReportProgress, reportSegment } from "../../src/points/use-cases/report-segment.ts";
import { check } from "../checks.ts";
import { camelCased, snakeCased } from "../spelling.ts";
import { runStep } from "../steps.ts";
import { withScanLock } from "./scan-locks.ts";

/** Each of these activities may be repeated. */
export function liabilityReportActivities(deps: Deps) {
  return {
    /**
     * Adds up a segment, for one step, when the run has the lock. A retry continues from the last
     * heartbeat.
     */
    async reportSegment(input: ReportSegmentInput): Promise<ReportSegmentResult> {
      const names = { program_id: "string", report_id: "string" };
      const fields = { ...names, segment: "number", segments: "number", cursor: "string?" };
      const {
        program_id: programId,
        report_id: reportId,
        segment,
        segments,
        ...place
      } = check(input, fields);
      const part = { programId, reportId, segment, segments };
      const onFailed = (_userId: string, err: unknown) =>
        log.warn("an account could not be added to a report", { programId, err });
      return withScanLock(deps, { programId, kind: "liability-report" }, () =>
        runStep<ReportProgress, ReportProgress>(place, (from, shouldContinue) =>
          reportSegment(deps, { ...part, ...from }, shouldContinue, onFailed),
        ),
      );
    },

    /** Keeps the sums in the record, and returns what it has. */
    async keepLiability(input: KeepLiabilityInput): Promise<LiabilityReportResult> {
      const {
        program_id: programId,
        report_id: reportId,
        ...counts
      } = check(input, {
        program_id: "string",
        report_id: "string",
      });
      const counted = camelCased<CountedLiability>(counts);
      const { asOf, since, result } = await keepLiability(deps, { programId, reportId }, counted);
      const { timeZone } = await deps.programs.get(programId);
      const time = (instant: number) => formatInstant(instant, timeZone);
      const { buckets, outstanding, failures: _, endTime: __, ...sums } = result as LiabilityResult;
      return {
        as_of: time(asOf),
        ...(since !== undefined && { since: time(since) }),
        ...snakeCased(sums),
        outstanding_points: outstanding,
        buckets: buckets.map(({ month, expireTime, points }) => ({
          month: formatMonth(month),
          expire_time: time(expireTime),
          points,
        })),
      };
    },
  };
}
