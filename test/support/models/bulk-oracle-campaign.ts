/** The oracle's campaigns: what people may change in each state, and what rows show. */
import type { BulkRules } from "../../../src/domain/bulk-rules.ts";
import { type RowCode, rowsPerBlock } from "../../../src/domain/sheet.ts";
import type { Counts, Head, Raw, Request, Result } from "./bulk-requests.ts";

export interface Row extends Raw {
  /** What is wrong with the row itself. */
  readonly own: readonly RowCode[];
  /** What the validation found in the store. */
  found?: "ALREADY_GRANTED" | readonly RowCode[];
  /** What became of it: points, or why none. Absent: not executed. */
  outcome?: number | RowCode;
}

export type Of<Op extends Request["op"]> = Extract<Request, { readonly op: Op }>;

/** The points of a revision, the approvals that they need, and the hour in which they came. */
export interface Counted {
  readonly hour: number;
  readonly required: number;
  readonly points: number;
}

export interface Campaign {
  state: Head["state"];
  revision: number;
  content: string;
  /** By content the latest revision that has it. */
  revisions: Record<string, number>;
  rows: Row[];
  /** The granted rows of the revisions before. */
  before: Raw[];
  /** The users of the revisions before, of rows without a problem of their own, in order. */
  usersBefore: string[];
  /** The points that the runs of the revisions before have counted. */
  countedBefore: number;
  /** What its rows have given to or taken from each user, once for good. */
  given: Record<string, { points: number; reversed: number }>;
  executeTime: number | undefined;
  submitter: string;
  required: number;
  exceededMaxTotalPoints: number | undefined;
  sameContentBulkGrantId: string | undefined;
  reverses: string | undefined;
  approvedBy: string[];
  remindAt: number;
  expireAt: number;
  reminded: boolean;
  reported: boolean;
  paused: boolean;
  cancelling: boolean;
  run: number;
  /** What the tiers count of the current revision. A reversal counts nothing. */
  counted: Counted | undefined;
  /** Whether a run of the current revision has begun. */
  started: boolean;
  /** The blocks that were validated. */
  validated: boolean[];
  /** For each block the run that has executed it last. */
  ran: number[];
  checked: { invalid: number; already: number; alreadyPoints: number } | undefined;
  result: Result | undefined;
  lastAction: string;
}

export class Refusal extends Error {}
export const refuse = (reason: string): never => {
  throw new Refusal(reason);
};

export const active = ["VALIDATING", "AWAITING_APPROVAL", "APPROVED", "RUNNING"];

/** Applies an approval, and returns whether it has changed anything by the approver. */
export function approve(
  campaign: Campaign,
  { by, revision }: Of<"approve">,
  rules: BulkRules,
  now: number,
): boolean {
  const isLate = expire(campaign, now);
  if (revision !== campaign.revision) refuse("DIGEST_MISMATCH");
  if (campaign.approvedBy.includes(by)) return false;
  if (isLate || campaign.state !== "AWAITING_APPROVAL") refuse("WRONG_STATE");
  if (by === campaign.submitter) refuse("SELF_APPROVAL");
  campaign.approvedBy.push(by);
  const required = Math.max(campaign.required, approvalsFor(rules, pointsOf(campaign)));
  if (campaign.approvedBy.length >= required) campaign.state = "APPROVED";
  return true;
}

/** The points of all revisions: rows that were granted count even if the sheet leaves them out. */
export function pointsOf({ rows, reverses, countedBefore, checked }: Campaign): number {
  const leftOut = countedBefore - (checked?.alreadyPoints ?? countedBefore);
  return totalOf(rows) + (reverses === undefined ? Math.max(leftOut, 0) : 0);
}

/** The other changes of people; each returns whether it has changed anything. */
export const changes = {
  reject(campaign: Campaign): boolean {
    if (campaign.state === "REJECTED") return false;
    if (campaign.state !== "AWAITING_APPROVAL") refuse("WRONG_STATE");
    campaign.state = "REJECTED";
    return true;
  },
  cancel(campaign: Campaign): boolean {
    if (campaign.state === "CANCELLED" || campaign.cancelling) return false;
    if (!active.includes(campaign.state)) refuse("WRONG_STATE");
    if (campaign.state === "RUNNING") campaign.cancelling = true;
    else {
      campaign.state = "CANCELLED";
      campaign.paused = false;
    }
    return true;
  },
  pause(campaign: Campaign): boolean {
    if (campaign.paused) return false;
    if (campaign.state !== "APPROVED" && campaign.state !== "RUNNING") refuse("WRONG_STATE");
    campaign.paused = true;
    return true;
  },
  resume(campaign: Campaign): boolean {
    const { paused } = campaign;
    campaign.paused = false;
    return paused;
  },
  retry(campaign: Campaign): boolean {
    if (campaign.state === "RUNNING") return false;
    if (campaign.state !== "DONE_WITH_FAILURES") refuse("WRONG_STATE");
    campaign.state = "RUNNING";
    campaign.run += 1;
    campaign.reported = false;
    return true;
  },
};

export function expire(campaign: Campaign, now: number): boolean {
  const isLate = campaign.state === "AWAITING_APPROVAL" && now >= campaign.expireAt;
  if (isLate) {
    campaign.state = "CANCELLED";
    campaign.lastAction = "EXPIRE meguri";
  }
  return isLate;
}

/** What the workflow does next. Nothing here has a source. */
export function stepOf({ state, paused, cancelling, result, reported }: Campaign): string {
  if (state === "VALIDATING") return "VALIDATE";
  if (state === "AWAITING_APPROVAL") return "AWAIT_APPROVAL";
  if (state === "RUNNING" && cancelling) return "FINISH";
  if (state === "RUNNING" || state === "APPROVED") {
    if (paused) return "PAUSED";
    return state === "RUNNING" ? "RUN" : "AWAIT_TIME";
  }
  return result && !reported ? "REPORT" : "END";
}

/** The rows with their own problems: of the user, the points and the reason. */
export function checkRows(raws: readonly Raw[], { maxPointsPerRow }: BulkRules): Row[] {
  if (raws.length === 0) refuse("INVALID_REQUEST");
  const users = new Set<string>();
  return raws.map((row) => {
    const own = ownProblems(row, users, maxPointsPerRow);
    users.add(row.userId);
    return { ...row, own };
  });
}

function ownProblems(
  { userId, points, reason }: Raw,
  users: ReadonlySet<string>,
  cap: number,
): RowCode[] {
  const codes: RowCode[] = [];
  if (userId === "") codes.push("USER_MISSING");
  else if (userId.includes("#")) codes.push("USER_MALFORMED");
  else if (users.has(userId)) codes.push("USER_TWICE");
  if (!isPoints(points)) codes.push("POINTS_MALFORMED");
  else if (points > cap) codes.push("POINTS_ABOVE_CAP");
  if (reason.length > 128) codes.push("REASON_TOO_LONG");
  return codes;
}

export const isPoints = (points: number): boolean => Number.isInteger(points) && points >= 1;

export const contentOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map(({ userId, points, reason, own }) => [userId, points, reason, own]));

export const rowsOfContent = (content: string): Raw[] =>
  (JSON.parse(content) as [string, number, string][]).map(([userId, points, reason]) => ({
    userId,
    points,
    reason,
  }));

export const totalOf = (rows: readonly Row[]): number =>
  rows.reduce((total, { own, points }) => total + (own.length > 0 ? 0 : points), 0);

export function approvalsFor({ tiers, requiredApprovalCount }: BulkRules, total: number): number {
  for (const { maxTotalPoints, requiredApprovalCount } of tiers)
    if (total <= maxTotalPoints) return requiredApprovalCount;
  return requiredApprovalCount;
}

export const blockOf = ({ rows }: Campaign, block: number): Row[] =>
  rows.slice(block * rowsPerBlock, (block + 1) * rowsPerBlock);

export const problemsOf = ({ own, found = [] }: Row): RowCode[] =>
  found === "ALREADY_GRANTED" ? [] : [...own, ...found];

/** Whether a run has to execute the row. */
export const isLeft = ({ found, outcome }: Row): boolean =>
  found !== "ALREADY_GRANTED" && typeof outcome !== "number";

export const grantedRows = ({ rows }: Campaign): Raw[] =>
  rows.flatMap(({ userId, points, reason, outcome }) =>
    typeof outcome === "number" ? [{ userId, points, reason }] : [],
  );

export function countsOf(rows: readonly Row[]): Counts {
  const granted = rows.flatMap(({ outcome }) => (typeof outcome === "number" ? [outcome] : []));
  const failed = rows.filter(
    ({ outcome }) => typeof outcome === "string" && outcome !== "NOT_RUN",
  ).length;
  return {
    grantedCount: granted.length,
    grantedPoints: granted.reduce((total, points) => total + points, 0),
    failedCount: failed,
  };
}

export const sum = (a: Counts, b: Counts): Counts => ({
  grantedCount: a.grantedCount + b.grantedCount,
  grantedPoints: a.grantedPoints + b.grantedPoints,
  failedCount: a.failedCount + b.failedCount,
});

export function shownState({ state }: Campaign, row: Row): [string, ...RowCode[]] {
  const problems = problemsOf(row);
  if (problems.length > 0) return ["INVALID", ...problems];
  if (row.found === "ALREADY_GRANTED") return ["ALREADY_GRANTED"];
  if (typeof row.outcome === "number") return ["GRANTED"];
  if (row.outcome && row.outcome !== "NOT_RUN") return ["FAILED", row.outcome];
  return active.includes(state) ? ["PENDING"] : ["NOT_RUN", "NOT_RUN"];
}

/** The blocks that the validation or the run under way has done. */
export function blocksDone({ state, validated, ran, run, rows }: Campaign): number[] {
  const blocks = Array.from({ length: Math.ceil(rows.length / rowsPerBlock) }, (_, i) => i);
  if (state === "VALIDATING") return blocks.filter((block) => validated[block]);
  return state === "RUNNING" ? blocks.filter((block) => ran[block] === run) : [];
}

export const headOf = (campaign: Campaign): Head => ({
  state: campaign.state,
  revision: campaign.revision,
  rowCount: campaign.rows.length,
  totalPoints: totalOf(campaign.rows),
  requiredApprovalCount: campaign.required,
  submitter: campaign.submitter,
  approvedBy: [...campaign.approvedBy],
  paused: campaign.paused,
  cancelling: campaign.cancelling,
  run: campaign.run,
  executeTime: campaign.executeTime,
  exceededMaxTotalPoints: campaign.exceededMaxTotalPoints,
  reverses: campaign.reverses,
  sameContentBulkGrantId: campaign.sameContentBulkGrantId,
  invalidCount: campaign.checked?.invalid,
  alreadyGrantedCount: campaign.checked?.already,
  alreadyGrantedPoints: campaign.checked?.alreadyPoints,
  result: campaign.result,
  lastAction: campaign.lastAction,
});
