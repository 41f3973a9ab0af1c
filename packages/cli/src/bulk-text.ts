/** Sentences about bulk grants: what one is, how it has ended, and what a person does next. */
import {
  BulkGrant_Action_Type as ActionType,
  type BulkGrant,
  BulkGrant_StateSchema,
  BulkGrantRow_State as RowState,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { refuse } from "./confirm.ts";
import { callerText, enumName, formatTime, printable, quantity } from "./output.ts";
import type { Session } from "./session.ts";

/** The state, with the changes that are under way. */
export function stateText({ state, pause, cancelRequest }: BulkGrant): string {
  const name = enumName(BulkGrant_StateSchema, state);
  if (cancelRequest) return `${name}, being cancelled`;
  return pause ? `${name}, paused` : name;
}

/** One line: what the bulk grant is, and its state. */
export function aboutBulkGrant(bulkGrant: BulkGrant | undefined): string {
  if (bulkGrant === undefined) return "";
  const { bulkGrantId, title, revision, rowCount, totalPoints } = bulkGrant;
  const size = `${quantity(rowCount, "row")}, ${quantity(totalPoints, "point")}`;
  const what = `${size}${title && ` (${title})`}`;
  return printable(`${bulkGrantId}: ${stateText(bulkGrant)}, revision ${revision}, ${what}`);
}

/** The event that has to happen before the bulk grant goes on; empty when none has to. */
export function waitsFor(bulkGrant: BulkGrant): string {
  const { state, pause, executeTime, expireTime } = bulkGrant;
  if (pause) return "its pause to end";
  if (state === State.AWAITING_APPROVAL) {
    return `${missingApprovals(bulkGrant)} until ${formatTime(expireTime)}`;
  }
  if (state === State.APPROVED && executeTime) return formatTime(executeTime);
  return state === State.INVALID ? "a corrected sheet" : "";
}

/** How many approvals it needs: more than at first when the rules became stricter. */
const neededApprovals = (bulkGrant: BulkGrant): number =>
  bulkGrant.raisedApprovalCount || bulkGrant.requiredApprovalCount;

/** How many approvals it has of those that it needs, such as `1 of 2`. */
export const approvalCounts = (bulkGrant: BulkGrant): string =>
  `${bulkGrant.approvals.length} of ${neededApprovals(bulkGrant)}`;

/** The approvals that are missing, such as `2 approvals`. */
const missingApprovals = (bulkGrant: BulkGrant): string =>
  quantity(neededApprovals(bulkGrant) - bulkGrant.approvals.length, "approval");

/** A command line about a bulk grant, which can be pasted into a shell. */
export function commandFor(
  { programId, bulkGrantId }: Pick<BulkGrant, "programId" | "bulkGrantId">,
  command: string,
  ...further: readonly string[]
): string {
  const program = programId === "default" ? [] : ["--program", programId];
  return ["meguri bulk", command, shellWord(bulkGrantId), ...further, ...program].join(" ");
}

/** Quotes a word that a shell would not take as it is: others have chosen the ids. */
const shellWord = (word: string): string =>
  /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** The option that makes a revision of the same content. */
const sameContent = ({ revision }: Pick<BulkGrant, "revision">): string =>
  `--replaced-revision ${revision}`;

/** The lines that say what is wrong and the next command; none while others do their work. */
export async function nextSteps(session: Session, bulkGrant: BulkGrant): Promise<string[]> {
  switch (bulkGrant.state) {
    case State.INVALID:
      return [...(await wrongRows(session, bulkGrant)), ...afterInvalid(bulkGrant)];
    case State.AWAITING_APPROVAL:
      return [
        `waits for ${missingApprovals(bulkGrant)} of ` +
          `${neededApprovals(bulkGrant)}, by anybody but ${submitterOf(bulkGrant)}: ` +
          commandFor(bulkGrant, "approve"),
      ];
    case State.REJECTED:
    case State.CANCELLED:
      return [endOf(bulkGrant), ...afterEnd(bulkGrant)];
    case State.DONE_WITH_FAILURES:
      return afterFailures(bulkGrant);
    default:
      return [];
  }
}

/** So many problems are shown. */
const maxShown = 5;

/** The first problems of rows, and how many rows have more. */
async function wrongRows({ meguri, call }: Session, bulkGrant: BulkGrant): Promise<string[]> {
  const { programId, bulkGrantId, revision, invalidCount } = bulkGrant;
  const request = { programId, bulkGrantId, revision, state: RowState.INVALID, pageSize: maxShown };
  const shown: string[] = [];
  let pageToken = "";
  do {
    const answer = await meguri.bulkGrants.listBulkGrantRows({ ...request, pageToken }, call);
    for (const { line, userId, problems } of answer.rows) {
      const texts = problems.map(({ code, message }) => `${code}: ${message}`);
      shown.push(`line ${line}, ${userId || "no user"}: ${texts.join("; ")}`);
    }
    pageToken = answer.nextPageToken;
  } while (pageToken !== "" && shown.length < maxShown);
  const more = invalidCount - shown.length;
  return more > 0 ? [...shown, `and ${more} more rows`] : shown;
}

function afterEnd(bulkGrant: BulkGrant): string[] {
  if (bulkGrant.reversedBulkGrantId) return [reverseAgain(bulkGrant)];
  return [
    `submit it again: ${commandFor(bulkGrant, "submit", "SHEET")}; the same sheet with ` +
      sameContent(bulkGrant),
  ];
}

/** A reversal has no sheet: its rows come from what was granted. */
function reverseAgain(bulkGrant: BulkGrant): string {
  const reversed = shellWord(bulkGrant.reversedBulkGrantId);
  const command = commandFor(bulkGrant, "reverse", reversed, sameContent(bulkGrant));
  return `submit it again: ${command}`;
}

function afterInvalid(bulkGrant: BulkGrant): string[] {
  const { exceededMaxTotalPoints, totalPoints, reversedBulkGrantId } = bulkGrant;
  if (reversedBulkGrantId) return [reverseAgain(bulkGrant)];
  return [
    ...(exceededMaxTotalPoints > 0n
      ? [
          `the sum is ${quantity(totalPoints, "point")}, and the program allows ` +
            `${exceededMaxTotalPoints}`,
        ]
      : []),
    `correct the sheet, then: ${commandFor(bulkGrant, "submit", "SHEET")}`,
    `if accounts or rules have changed instead, the same sheet with ${sameContent(bulkGrant)}`,
  ];
}

const afterFailures = (bulkGrant: BulkGrant): string[] => [
  `failed: ${(bulkGrant.result?.problemCounts ?? [])
    .map(({ code, rowCount }) => `${rowCount} × ${code}`)
    .join(", ")}`,
  `run these rows again: ${commandFor(bulkGrant, "retry")}`,
  ...(bulkGrant.reversedBulkGrantId
    ? []
    : [
        `or correct them: ${commandFor(bulkGrant, "export-failed")} > failed.csv, then ` +
          commandFor(bulkGrant, "submit", "failed.csv"),
      ]),
];

/** Who ended it, and why. */
function endOf({ actions, result, countsFinalTime }: BulkGrant): string {
  const ends: readonly ActionType[] = [ActionType.REJECT, ActionType.CANCEL, ActionType.EXPIRE];
  const end = actions.findLast(({ type }) => ends.includes(type));
  if (end === undefined) return "it has ended";
  const verb = end.type === ActionType.REJECT ? "rejected" : "cancelled";
  const reason = end.reason === "" ? "without a reason" : end.reason;
  const granted = result
    ? `; ${quantity(result.grantedCount, "row was", "rows were")} granted before`
    : "";
  const final = countsFinalTime
    ? `; this count is final at ${formatTime(countsFinalTime)}, a row may be granted until then`
    : "";
  const by = end.caller ? callerText(end.caller) : "nobody";
  return `${verb} by ${by}: ${reason}${granted}${final}`;
}

const submitterOf = ({ submitter }: BulkGrant): string =>
  submitter ? callerText(submitter) : "the submitter";

/** The answer of a submission. */
interface Submission {
  readonly bulkGrant?: BulkGrant | undefined;
  readonly replayed: boolean;
  /** The revision that has the submitted content. */
  readonly revision: number;
}

/** The states in which nothing of the content will be granted. */
const endedWithoutGranting: ReadonlySet<State> = new Set([
  State.INVALID,
  State.REJECTED,
  State.CANCELLED,
]);

/**
 * Says what a person does next, and sets the exit code: 1 when the submitted content will not be
 * granted. Returns whether it will be, or is.
 */
export async function reportSubmission(
  session: Session,
  { bulkGrant, replayed, revision }: Submission,
): Promise<boolean> {
  if (bulkGrant === undefined) return true;
  const option = `make it the next one with: ${sameContent(bulkGrant)}`;
  if (revision !== bulkGrant.revision) {
    return refuse(
      session,
      `not submitted: this was revision ${revision}, which others have replaced; ${option}`,
    );
  }
  if (replayed && endedWithoutGranting.has(bulkGrant.state)) {
    const state = stateText(bulkGrant);
    return refuse(
      session,
      `not submitted: this is revision ${revision}, which is ${state}; ${option}`,
    );
  }
  if (replayed && bulkGrant.state === State.DONE_WITH_FAILURES) {
    return refuse(
      session,
      `not submitted: rows of this revision have failed; run them again with: ` +
        commandFor(bulkGrant, "retry"),
    );
  }
  const done = bulkGrant.state === State.DONE ? ", and all rows are granted" : "";
  await session.out.note(
    replayed
      ? `replayed: the current revision has the same content${done}`
      : `follow it with: ${commandFor(bulkGrant, "watch")}`,
  );
  return true;
}
