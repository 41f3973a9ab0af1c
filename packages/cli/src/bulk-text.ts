/** What is said of a bulk grant beside its fields: its state, its details and its wrong rows. */
import {
  type BulkGrant,
  BulkGrant_StateSchema,
  BulkGrantRow_State as RowState,
  type SheetWarning,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { refuse } from "./confirm.ts";
import { cutToWidth, maxNameWidth } from "./layout.ts";
import { callerText, enumName, nounFor, type Output, printable, quantity } from "./output.ts";
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
  const { bulkGrantId, title, revision, rowCount, totalPoints, request } = bulkGrant;
  const size = `${quantity(rowCount, "row")}, ${quantity(totalPoints, "point")}`;
  const what = request?.text ?? `${size}${title && ` (${title})`}`;
  return printable(`${bulkGrantId}: ${stateText(bulkGrant)}, revision ${revision}, ${what}`);
}

/** A number of things as people read it, such as `75,150 points`. */
export const amount = (count: number | bigint, thing: string): string =>
  `${count.toLocaleString("en")} ${nounFor(count, thing)}`;

/** How much is granted to how many: each row has a member of its own. */
export const sizeText = (size: Pick<BulkGrant, "rowCount" | "totalPoints">): string =>
  [
    amount(size.rowCount, "row"),
    amount(size.rowCount, "member"),
    amount(size.totalPoints, "point"),
  ].join(", ");

/** The name of a bulk grant in a question: its title, or its id. */
export const shortName = ({ title, bulkGrantId }: BulkGrant): string =>
  cutToWidth(printable(title || bulkGrantId), maxNameWidth);

/**
 * A decision as its question names it: what is granted, without what earlier revisions have granted
 * already, to how many, for what, and who wants it.
 */
export function decisionText(bulkGrant: BulkGrant, verb: "approve" | "reject"): string {
  const { rowCount, alreadyGrantedCount, totalPoints, alreadyGrantedPoints } = bulkGrant;
  const points = amount(totalPoints - alreadyGrantedPoints, "point");
  const members = amount(rowCount - alreadyGrantedCount, "member");
  const { reversedBulkGrantId: reversed, submitter, request } = bulkGrant;
  const by = cutToWidth(printable(submitter ? callerText(submitter) : ""), maxNameWidth);
  if (request) {
    const reason = cutToWidth(printable(request.reason), maxNameWidth);
    const start = verb === "approve" ? "" : "Reject the request: ";
    return `${start}${printable(request.text)}${reason && ` for ${reason}`}, requested by ${by}`;
  }
  const wanted = `for ${shortName(bulkGrant)}, submitted by ${by}`;
  if (reversed === "") {
    const start = verb === "approve" ? "Grant" : "Reject";
    return `${start} ${points} to ${members} ${wanted}`;
  }
  const start = verb === "approve" ? "Take back" : "Reject taking back";
  const from = cutToWidth(printable(reversed), maxNameWidth);
  return `${start} up to ${points} of ${from} from ${members} ${wanted}`;
}

/** The warnings of rows, a line each: in colour on a terminal, the stressed ones in bold. */
export const warningLines = (out: Output, warnings: readonly SheetWarning[]): string =>
  warnings
    .map(({ text, stressed }) =>
      out.style(stressed ? ["yellow", "bold"] : "yellow", printable(`WARNING ${text}`)),
    )
    .map((text) => `${text}\n`)
    .join("");

/** How many approvals it has of those that it needs, such as `1 of 2`. */
export const approvalCounts = (bulkGrant: BulkGrant): string => {
  const { approvals, raisedApprovalCount, requiredApprovalCount } = bulkGrant;
  return `${approvals.length} of ${raisedApprovalCount || requiredApprovalCount}`;
};

/** What a bulk grant waits for or how it has ended, and what a person can do next. */
export const detailsOf = async (session: Session, bulkGrant: BulkGrant): Promise<string[]> => [
  ...(bulkGrant.state === State.INVALID ? await wrongRows(session, bulkGrant) : []),
  ...bulkGrant.details,
];

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

/** The answer of a submission. */
interface Submission {
  readonly bulkGrant?: BulkGrant | undefined;
  readonly replayed: boolean;
  /** The revision that has the submitted content. */
  readonly revision: number;
}

/** The states in which nothing more is granted until a person does something. */
const endedWithoutGranting: ReadonlySet<State> = new Set([
  State.INVALID,
  State.REJECTED,
  State.CANCELLED,
  State.DONE_WITH_FAILURES,
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
  if (revision !== bulkGrant.revision) {
    return refuse(
      session,
      `not submitted: this was revision ${revision}, which others have replaced; ` +
        `make it the next one with: --replaced-revision ${bulkGrant.revision}`,
    );
  }
  if (replayed) await session.out.note("replayed: the current revision has the same content");
  for (const line of bulkGrant.details) await session.out.note(line);
  if (!replayed || !endedWithoutGranting.has(bulkGrant.state)) return true;
  return refuse(
    session,
    `not submitted: this is revision ${revision}, which is ${stateText(bulkGrant)}`,
  );
}
