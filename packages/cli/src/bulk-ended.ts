/** Says how a bulk grant has ended or why it waits, and what a person does next. */
import {
  BulkGrant_Action_Type as ActionType,
  type BulkGrant,
  BulkGrantRow_State as RowState,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { commandFor, missingApprovals, neededApprovals, shellWord } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { counted } from "./counted.ts";
import { formatTime } from "./output.ts";
import type { Session } from "./session.ts";

/** The option that makes a revision of the same content. */
export const replacedRevision = ({ revision }: Pick<BulkGrant, "revision">): string =>
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
      replacedRevision(bulkGrant),
  ];
}

/** A reversal has no sheet: its rows come from what was granted. */
function reverseAgain(bulkGrant: BulkGrant): string {
  const reversed = shellWord(bulkGrant.reversedBulkGrantId);
  const command = commandFor(bulkGrant, "reverse", reversed, replacedRevision(bulkGrant));
  return `submit it again: ${command}`;
}

function afterInvalid(bulkGrant: BulkGrant): string[] {
  const { exceededMaxTotalPoints, totalPoints, reversedBulkGrantId } = bulkGrant;
  if (reversedBulkGrantId) return [reverseAgain(bulkGrant)];
  return [
    ...(exceededMaxTotalPoints > 0n
      ? [
          `the sum is ${counted(totalPoints, "point")}, and the program allows ` +
            `${exceededMaxTotalPoints}`,
        ]
      : []),
    `correct the sheet, then: ${commandFor(bulkGrant, "submit", "SHEET")}`,
    `if accounts or rules have changed instead, the same sheet with ${replacedRevision(bulkGrant)}`,
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
    ? `; ${counted(result.grantedCount, "row was", "rows were")} granted before`
    : "";
  const final = countsFinalTime
    ? `; this count is final at ${formatTime(countsFinalTime)}, a row may be granted until then`
    : "";
  const by = end.caller ? callerText(end.caller) : "nobody";
  return `${verb} by ${by}: ${reason}${granted}${final}`;
}

const submitterOf = ({ submitter }: BulkGrant): string =>
  submitter ? callerText(submitter) : "the submitter";
