/** The record of a bulk grant, its states, and what follows from them. */
import { type Approval, type Caller, withActor } from "../../platform/words/caller.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";
import type { EventName } from "../../points/rules/ledger.ts";
import type { RowCode } from "./sheet.ts";
import type { SheetWarning } from "./sheet-warning.ts";
import type { TierPoints } from "./tier-points.ts";

/** A state, as it is stored and as readers get it. */
export type BulkGrantState =
  | "VALIDATING"
  | "INVALID"
  | "AWAITING_APPROVAL"
  | "REJECTED"
  | "APPROVED"
  | "RUNNING"
  | "DONE"
  | "DONE_WITH_FAILURES"
  | "CANCELLED";

/** The states in which a workflow has something to do. */
export const activeStates: readonly BulkGrantState[] = [
  "VALIDATING",
  "AWAITING_APPROVAL",
  "APPROVED",
  "RUNNING",
];

/** The states in which nothing more is done, unless people do something. */
export const finalStates: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "DONE",
  "DONE_WITH_FAILURES",
  "CANCELLED",
]);

/** Names a bulk grant. */
export interface BulkGrantName {
  readonly programId: string;
  readonly bulkGrantId: string;
}

/**
 * The record of a bulk grant, a campaign that grants points to many users. State and counts are
 * those of this record; its workflow only follows it.
 */
export interface BulkGrant extends BulkGrantName {
  readonly state: BulkGrantState;
  /** The current revision of the sheet. */
  readonly revision: Revision;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** The points that earlier revisions have granted; absent when they have granted none. */
  readonly grantedBefore?: number | undefined;
  /** The result of the validation; absent in VALIDATING. */
  readonly checked?: CheckCounts | undefined;
  /** The warnings that the rules refuse, so that the current revision is INVALID. */
  readonly refusedWarnings?: readonly SheetWarning[] | undefined;
  /** The approvals of the current revision. */
  readonly approvals: readonly Approval[];
  /** How many approvals it needs since the rules became stricter while it waited. */
  readonly raisedApprovalCount?: number | undefined;
  /** The points of the current revision that the program's tiers count; absent for none. */
  readonly tierPoints?: TierPoints | undefined;
  /** When the submitter is reminded, and when the bulk grant is cancelled without approvals. */
  readonly remindTime: Instant;
  readonly expireTime: Instant;
  readonly reminded?: true | undefined;
  /** The last announcement of the current revision's wait for approvals. */
  readonly announced?: Announcement | undefined;
  /** Present while no further row is executed. */
  readonly pause?: Action | undefined;
  /** Present when it is to be cancelled as soon as the rows under way are done. */
  readonly cancelRequest?: Action | undefined;
  /** The number of runs over the rows so far: 1 for the first, one more for each retry. */
  readonly run: number;
  readonly startTime?: Instant | undefined;
  readonly endTime?: Instant | undefined;
  /** The result of the run; absent before the first one has ended. */
  readonly result?: RunCounts | undefined;
  /**
   * When the result of a cancelled run is counted again: until then the store may accept a row that
   * was under way. Absent: the result is final.
   */
  readonly countsFinalTime?: Instant | undefined;
  /** Where the sheet is since a pick-up has moved it; absent when it is where it was. */
  readonly movedTo?: SheetAddress | undefined;
  /** Where the source has the rows that were not granted; absent before they are written. */
  readonly failedRowsAt?: SheetAddress | undefined;
  /** How far the report of the last outcome has come. */
  readonly report?: "SENDING" | "SENT" | "FAILED" | undefined;
  /** The latest 20 actions, oldest first. */
  readonly actions: readonly Action[];
  /** The number of all actions so far. Each is a record of its own, too, numbered from 1. */
  readonly actionCount: number;
}

/** Where people find a file or a tab. */
export interface SheetAddress {
  /** The path of a file, as a source string has it, or the title of a tab. */
  readonly name: string;
  /** Absent when it has no address. */
  readonly url?: string | undefined;
}

/** One revision of the sheet. It never changes. */
export interface Revision {
  readonly number: number;
  /** Names the stored rows. */
  readonly uploadId: string;
  readonly rowCount: number;
  /** The sum over all rows without a problem of their own. */
  readonly totalPoints: Points;
  /** SHA-256 of all rows in order, base64url. */
  readonly rowsDigest: string;
  /** SHA-256 of the fields that an approval covers, base64url: see `digestOf` of the use cases. */
  readonly digest: string;
  /** Absent: as soon as it is approved. */
  readonly executeTime?: Instant | undefined;
  /** At whose end the points expire of rows without a month of their own; absent without one. */
  readonly expireMonth?: Month | undefined;
  /** Whether rows have a month of their own. */
  readonly hasExpireMonths?: true | undefined;
  readonly requiredApprovalCount: number;
  /** The cap of the program on the sum, when the sum exceeds it. */
  readonly exceededMaxTotalPoints?: Points | undefined;
  readonly submitter: Caller;
  /** Who started the run that submitted it from a source, unverified; absent for a call. */
  readonly starter?: Caller | undefined;
  readonly submitTime: Instant;
  /** The name for people; absent when it has none. Not part of the content. */
  readonly title?: string | undefined;
  /** The cause, for the ledger entry of every row; absent when none is given. */
  readonly cause?: string | undefined;
  /** The source of the rows, such as a file; absent for an upload. */
  readonly source?: string | undefined;
  /** Where people find the source in a browser, also after a move; absent without an address. */
  readonly sourceUrl?: string | undefined;
  /** The bulk grant whose grants are revoked; absent for one that grants. */
  readonly reversedBulkGrantId?: string | undefined;
  /** Another bulk grant of the program with the same rows. */
  readonly sameContentBulkGrantId?: string | undefined;
  /** What is requested for one user without a sheet; absent for rows of a sheet. */
  readonly request?: UserRequest | undefined;
}

/** A request for one user: `totalPoints` of its revision, or that a grant is taken back. */
export interface UserRequest {
  readonly userId: string;
  /** Empty when no reason is given. */
  readonly reason: string;
  /** The grant or extension that is taken back; absent for a request of points. */
  readonly revokedEvent?: EventName | undefined;
}

/** Whether the rows take points back: those of a reversal, and of the request of a revoke. */
export const isRevocation = ({
  reversedBulkGrantId,
  request,
}: Pick<Revision, "reversedBulkGrantId" | "request">): boolean =>
  reversedBulkGrantId !== undefined || request?.revokedEvent !== undefined;

/** The counts of a validation. */
export interface CheckCounts {
  readonly invalidCount: number;
  readonly alreadyGrantedCount: number;
  readonly alreadyGrantedPoints: Points;
}

/** The counts of a run. Granted rows of a reversal are those that were revoked. */
export interface RunCounts {
  readonly grantedCount: number;
  readonly grantedPoints: Points;
  readonly failedCount: number;
  /** Rows that were not executed, because the bulk grant was cancelled. */
  readonly notRunCount: number;
  readonly problemCounts: Readonly<Partial<Record<RowCode, number>>>;
}

/** An action on a bulk grant: its kind, caller, time and reason, which may be empty. */
export interface Action extends Approval {
  readonly action: ActionName;
  readonly revision: number;
  /** Of a SUBMIT: the starter of the revision. */
  readonly starter?: Caller | undefined;
}

export type ActionName =
  | "SUBMIT"
  | "APPROVE"
  | "REJECT"
  | "CANCEL"
  | "PAUSE"
  | "RESUME"
  | "RETRY"
  | "EXPIRE";

/** The names of those who have submitted, started and changed it: the latest ones, each once. */
export const actorsOf = ({ revision, actions }: BulkGrant): readonly string[] =>
  [{ ...revision, caller: revision.submitter }, ...actions]
    .flatMap(({ caller, starter }) => (starter ? [caller, starter] : [caller]))
    .reduce<readonly string[]>(withActor, []);

/** How long the approvals may take, in ms. */
export interface ApprovalTimes {
  readonly reminderMs: Milliseconds;
  readonly expiryMs: Milliseconds;
}

/** How many approvals the current revision needs: more than at its begin under stricter rules. */
export const neededApprovals = ({
  raisedApprovalCount,
  revision,
}: Pick<BulkGrant, "raisedApprovalCount" | "revision">): number =>
  raisedApprovalCount ?? revision.requiredApprovalCount;

/**
 * The announcements of a wait for approvals in Slack, each sent once: that it has begun, that
 * stricter rules need more approvals, and how it ended.
 */
export type Announcement = "WAITING" | "RAISED" | "APPROVED" | "ENDED";

/** Returns the announcement that is due now. The end of a wait is due only after its begin. */
export function dueAnnouncement(record: BulkGrant): Announcement | undefined {
  const { state, announced, raisedApprovalCount, result } = record;
  if (state === "AWAITING_APPROVAL") {
    if (announced === undefined) return "WAITING";
    return announced === "WAITING" && raisedApprovalCount !== undefined ? "RAISED" : undefined;
  }
  if (announced === undefined || announced === "ENDED") return undefined;
  // Of a run that was cancelled, the report says it.
  if (state === "REJECTED" || state === "CANCELLED") return result ? undefined : "ENDED";
  return announced === "APPROVED" ? undefined : "APPROVED";
}

/** The next step of the workflow. */
export type BulkGrantStep =
  | "VALIDATE"
  | "AWAIT_APPROVAL"
  | "AWAIT_TIME"
  | "PAUSED"
  | "RUN"
  | "FINISH"
  | "REPORT"
  | "END";

/**
 * Returns what follows from the record. `REPORT` precedes the end of what has an outcome, `FINISH`
 * counts the rows of a cancelled run: when it ends, and again when no row comes any more.
 */
export function nextStep(record: BulkGrant, now: Instant): BulkGrantStep {
  switch (record.state) {
    case "VALIDATING":
      return "VALIDATE";
    case "AWAITING_APPROVAL":
      return "AWAIT_APPROVAL";
    case "APPROVED":
      if (record.pause) return "PAUSED";
      return now < (record.revision.executeTime ?? 0) ? "AWAIT_TIME" : "RUN";
    case "RUNNING":
      if (record.cancelRequest) return "FINISH";
      return record.pause ? "PAUSED" : "RUN";
    default:
      if (isReported(record) && record.report !== "SENT" && record.report !== "FAILED") {
        return "REPORT";
      }
      return isRecountDue(record, now) ? "FINISH" : "END";
  }
}

/** Whether the rows of a cancelled run are to be counted again: the store accepts none any more. */
export const isRecountDue = (
  { countsFinalTime }: Pick<BulkGrant, "countsFinalTime">,
  now: Instant,
): boolean => countsFinalTime !== undefined && countsFinalTime <= now;

/** Whether people get a report: of every run, and of an invalid sheet that nobody uploaded. */
const isReported = ({ state, result, revision }: BulkGrant): boolean =>
  result !== undefined || (state === "INVALID" && revision.source !== undefined);
