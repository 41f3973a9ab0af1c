/** The run that adds up what a program owes its members. */

import { maxReports } from "../../platform/words/counted.ts";
import { addLiability, type Liability, noLiability } from "../rules/liability-sums.ts";
import type { FailedAccount } from "./points.ts";
import type { SegmentLeft } from "./verifications.ts";

export const liabilityReportWorkflowId = (programId: string, reportId: string): string =>
  `liability-report/${programId}/${reportId}`;

/** The number of disjoint parts of the table that a report scans concurrently. */
export const reportSegments = 16;

/** Starts a report, whose record exists. */
export interface LiabilityReportInput {
  readonly program_id: string;
  readonly report_id: string;
  /** Set by continue-as-new. */
  readonly so_far?: ReportProgress;
}

/** What the runs before this one have added up, and the segments that they have left. */
interface ReportProgress {
  readonly counts: LiabilityCounts;
  readonly segments: readonly SegmentLeft[];
}

/** Adds up the accounts of one of `segments` segments of the table. */
export interface ReportSegmentInput extends SegmentLeft {
  readonly program_id: string;
  readonly report_id: string;
  readonly segments: number;
}

/** The sum of a segment so far. At its end there is no cursor. */
export interface ReportSegmentResult extends LiabilityCounts {
  readonly cursor?: string;
}

/** The sum over accounts; the names of its totals are those of the contract. */
export interface LiabilityCounts extends Liability {
  /** The number of accounts that could not be read, which are in no sum. */
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly FailedAccount[];
}

/** Keeps the sums in the record. */
export interface KeepLiabilityInput extends LiabilityCounts {
  readonly program_id: string;
  readonly report_id: string;
}

/** A finished report. Instants are RFC 3339 in the program's zone, sums decimals. */
export interface LiabilityReportResult extends Omit<LiabilityCounts, "months" | "failures"> {
  readonly as_of: string;
  readonly since?: string;
  readonly outstanding_points: string;
  /** The outstanding points by the month of their grants, oldest first. */
  readonly buckets: readonly LiabilityBucket[];
}

interface LiabilityBucket {
  /** Such as `"2026-11"`. */
  readonly month: string;
  readonly expire_time: string;
  readonly points: string;
}

export const noCounts: LiabilityCounts = { ...noLiability, failed: 0, failures: [] };

/** Adds up two sums; accounts beyond the first 100 that failed are counted, but not named. */
export const addCounts = (total: LiabilityCounts, next: LiabilityCounts): LiabilityCounts => ({
  ...addLiability(total, next),
  failed: total.failed + next.failed,
  failures: [...total.failures, ...next.failures].slice(0, maxReports),
});
