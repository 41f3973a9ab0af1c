/** The verification of all accounts of a program against their ledgers. */

import { maxReports } from "../../platform/words/counted.ts";
import type { Difference } from "../rules/rebuild.ts";
import type { FailedAccount } from "./points.ts";

export const verifyWorkflowId = (programId: string): string => `verify-program/${programId}`;

/** The query for the report of a verification so far. */
export const reportQuery = "report";

/** The number of disjoint parts of the table that a verification scans concurrently. */
export const verifySegments = 4;

/** Starts the verification of all accounts of a program. */
export interface VerifyProgramInput {
  readonly program_id: string;
  /** Repairs the accounts that differ. */
  readonly repair?: boolean;
  /** Set by continue-as-new. */
  readonly so_far?: VerificationProgress;
}

/** What the runs before this one have verified, and the segments that they have left. */
interface VerificationProgress {
  readonly report: VerificationReport;
  readonly segments: readonly SegmentLeft[];
}

/** A segment of the table that is left, and where it continues. */
export interface SegmentLeft {
  readonly segment: number;
  /** Absent at the start of the segment. */
  readonly cursor?: string;
}

/** Verifies the accounts of one of `segments` segments of the table. */
export interface VerifySegmentInput extends SegmentLeft {
  readonly program_id: string;
  readonly repair?: boolean;
  readonly segments: number;
}

/** The report of a segment so far. At its end there is no cursor. */
export interface VerifySegmentResult extends VerificationReport {
  readonly cursor?: string;
}

/** The report of a verification. */
export interface VerificationReport {
  /** The number of accounts that were verified. */
  readonly accounts: number;
  /** The number of ledger entries that were read. */
  readonly entries: number;
  /** The number of accounts that differed from their ledgers before any repair. */
  readonly wrong: number;
  /** The number of accounts that were repaired. Absent in results of workers that repair none. */
  readonly repaired?: number;
  /** The first 100 accounts that differ. */
  readonly reports: readonly AccountReport[];
  /** The number of accounts that could not be verified, or not be repaired. */
  readonly failed: number;
  /** The first 100 accounts that could not be verified, or not be repaired. */
  readonly failures: readonly FailedAccount[];
}

/** The differences of one account. */
export interface AccountReport {
  readonly user_id: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** The number of further differences. */
  readonly unreported: number;
}

export const emptyReport: VerificationReport = {
  accounts: 0,
  entries: 0,
  wrong: 0,
  repaired: 0,
  reports: [],
  failed: 0,
  failures: [],
};

/** Adds up two reports; accounts beyond the first 100 are counted, but not named. */
export const addReports = (
  total: VerificationReport,
  next: VerificationReport,
): VerificationReport => ({
  accounts: total.accounts + next.accounts,
  entries: total.entries + next.entries,
  wrong: total.wrong + next.wrong,
  repaired: (total.repaired ?? 0) + (next.repaired ?? 0),
  reports: [...total.reports, ...next.reports].slice(0, maxReports),
  failed: total.failed + next.failed,
  failures: [...total.failures, ...next.failures].slice(0, maxReports),
});
