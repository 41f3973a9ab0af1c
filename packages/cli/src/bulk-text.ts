/** Sentences about bulk grants. */
import {
  type BulkGrant,
  BulkGrant_StateSchema,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { counted } from "./counted.ts";
import { enumName } from "./options.ts";
import { formatTime, printable } from "./output.ts";

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
  const size = `${counted(rowCount, "row")}, ${counted(totalPoints, "point")}`;
  const what = `${size}${title && ` (${title})`}`;
  return printable(`${bulkGrantId}: ${stateText(bulkGrant)}, revision ${revision}, ${what}`);
}

/** What has to happen before it goes on; empty when nothing does. */
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
export const neededApprovals = (bulkGrant: BulkGrant): number =>
  bulkGrant.raisedApprovalCount || bulkGrant.requiredApprovalCount;

/** How many approvals it has of those that it needs, such as `1 of 2`. */
export const approvalCounts = (bulkGrant: BulkGrant): string =>
  `${bulkGrant.approvals.length} of ${neededApprovals(bulkGrant)}`;

/** The approvals that are missing, such as `2 approvals`. */
export const missingApprovals = (bulkGrant: BulkGrant): string =>
  counted(neededApprovals(bulkGrant) - bulkGrant.approvals.length, "approval");

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
export const shellWord = (word: string): string =>
  /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
