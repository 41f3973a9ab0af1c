/** A bulk grant in words: what it is, what it waits for, and what a person can do next. */
import { type Approval, displayCaller } from "../../platform/words/caller.ts";
import { formatMonth } from "../../platform/words/month.ts";
import { nounFor, quantity } from "../../platform/words/quantities.ts";
import { withoutVersion } from "../../platform/words/source-string.ts";
import type { TextStyle } from "../../platform/words/text-style.ts";
import type { Origin } from "../../points/rules/ledger.ts";
import {
  type Action,
  type BulkGrant,
  type BulkGrantName,
  isRevocation,
  neededApprovals,
  type Revision,
  type RunCounts,
  type SheetAddress,
} from "./bulk-grant.ts";
import { sheetWarningText } from "./sheet-warning.ts";

/** A line about a bulk grant: what it is about, and what it says. */
export interface TextLine {
  readonly name: string;
  readonly text: string;
}

/** Where people find a file or a tab: its address, or else its name. */
export const addressOf = ({ name, url }: SheetAddress): string => url ?? name;

export const rows = (count: number): string => quantity(count, "row");

export const points = (count: number): string => quantity(count, "point");

/** Each row that is right has a member of its own. */
const members = (count: number): string => quantity(count, "member");

/** The rows by their codes, the most rows first. */
export const codesText = (counts: RunCounts["problemCounts"]): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${count.toLocaleString("en")} × ${code}`)
    .join(", ");

/** Grants besides those of calls: a call and a reservation of one user may have the same id. */
const grantNouns: Partial<Record<Origin, string>> = { r: "reservation ", b: "bulk grant row " };

/** What is requested for one user, such as "Grant 500 points to aoi"; undefined for a sheet. */
export function requestText(
  { request, totalPoints }: Pick<Revision, "request" | "totalPoints">,
  { value }: Pick<TextStyle, "value">,
): string | undefined {
  if (!request) return undefined;
  const { userId, revokedEvent } = request;
  if (!revokedEvent) return `Grant ${points(totalPoints)} to ${value(userId)}`;
  const { origin, eventId } = revokedEvent;
  const noun = grantNouns[origin] ?? "";
  return `Revoke up to ${points(totalPoints)} of ${value(userId)}, of ${noun}${value(eventId)}`;
}

/** What it waits for or how it has ended, then what a person can do next. */
export function detailsOf(bulkGrant: BulkGrant, style: TextStyle): string[] {
  const { state, revision, approvals, pause, cancelRequest, result } = bulkGrant;
  const { value, time } = style;
  const by = (action: Action | undefined) => (action ? ` by ${whoOf(action, style)}` : "");
  const command = (name: string, ...further: string[]) =>
    style.code(commandFor(bulkGrant, name, further));
  switch (state) {
    case "VALIDATING": {
      const what = revision.request ? "The request is" : "The rows are";
      return [`${what} being checked: ${command("watch")}`];
    }
    case "INVALID":
      return [
        ...faultsOf(bulkGrant, style),
        ...submitAgain(bulkGrant, style),
        ...ends(bulkGrant, style),
      ];
    case "AWAITING_APPROVAL": {
      const missing = quantity(neededApprovals(bulkGrant) - approvals.length, "approval");
      const submitter = value(displayCaller(revision.submitter));
      return [
        `Waits for ${missing} until ${time(bulkGrant.expireTime)}, ` +
          `by anybody but ${submitter}: ${command("approve")}`,
      ];
    }
    case "APPROVED":
      if (pause) return [`Paused${by(pause)}.`];
      return revision.executeTime === undefined
        ? ["Approved, and about to start."]
        : [`Approved, and starts at ${time(revision.executeTime)}.`];
    case "RUNNING":
      if (cancelRequest) {
        return [`Cancelled${by(cancelRequest)}; ends when the rows under way are counted.`];
      }
      return pause ? [`Paused${by(pause)}.`] : [runText(bulkGrant, style)];
    case "REJECTED":
      return [`Rejected${by(endingOf(bulkGrant))}.`, ...submitAgain(bulkGrant, style)];
    case "CANCELLED":
      return [
        `Cancelled${by(endingOf(bulkGrant))}.`,
        ...submitAgain(bulkGrant, style),
        ...ends(bulkGrant, style),
      ];
    case "DONE_WITH_FAILURES": {
      if (revision.request) {
        return [
          `It was refused: ${Object.keys(result?.problemCounts ?? {}).join(", ")}.`,
          `Try it again: ${command("retry")}`,
          ...ends(bulkGrant, style),
        ];
      }
      const failed = style.code(`${commandFor(bulkGrant, "export-failed")} > failed.csv`);
      return [
        `Done, and rows failed: ${codesText(result?.problemCounts ?? {})}.`,
        `Run these rows again: ${command("retry")}`,
        ...(revision.reversedBulkGrantId === undefined
          ? [`Or correct them: ${failed}, then ${command("submit", "failed.csv")}`]
          : []),
        ...ends(bulkGrant, style),
      ];
    }
    case "DONE":
      return [doneText(bulkGrant), ...ends(bulkGrant, style)];
  }
}

const doneText = ({ revision, result }: BulkGrant): string => {
  const sum = points(result?.grantedPoints ?? 0);
  const what = revision.request
    ? `${sum} ${nounFor(result?.grantedPoints ?? 0, "was", "were")}`
    : "each row was";
  return `Done: ${what} ${grantedWord(revision)}.`;
};

/** Of a retry, the record has no start. */
const runText = ({ run, startTime, revision }: BulkGrant, { time }: TextStyle): string =>
  `Run ${run} executes the ${revision.request ? "request" : "rows"}` +
  (run === 1 && startTime !== undefined ? ` since ${time(startTime)}.` : ".");

function faultsOf(
  { checked, revision, refusedWarnings = [] }: BulkGrant,
  style: TextStyle,
): string[] {
  const { exceededMaxTotalPoints: cap, totalPoints } = revision;
  const invalid = checked?.invalidCount ?? 0;
  const what = revision.request ? "The request" : rows(invalid);
  return [
    ...(invalid > 0 ? [`${what} ${nounFor(invalid, "is", "are")} invalid.`] : []),
    ...(cap === undefined
      ? []
      : [`The sum is ${points(totalPoints)}, and the program allows ${points(cap)}.`]),
    ...refusedWarnings.map(
      (warning) => `The program refuses this warning: ${sheetWarningText(warning, style)}.`,
    ),
  ];
}

/** A reversal has no sheet: its rows come from what was granted. */
function submitAgain(bulkGrant: BulkGrant, { code }: TextStyle): string[] {
  const { number, reversedBulkGrantId } = bulkGrant.revision;
  if (bulkGrant.revision.request) return [`Request it again: ${code(requestCommand(bulkGrant))}`];
  const same = ["--replaced-revision", `${number}`];
  if (reversedBulkGrantId !== undefined) {
    const again = commandFor(bulkGrant, "reverse", [reversedBulkGrantId], same);
    return [`Submit it again: ${code(again)}`];
  }
  return [
    `Submit a corrected sheet: ${code(commandFor(bulkGrant, "submit", ["SHEET"]))}`,
    `Or the same one again: ${code(commandFor(bulkGrant, "submit", ["SHEET"], same))}`,
  ];
}

/** What there is to know of one that has ended, beside its counts. */
function ends(
  { countsFinalTime, failedRowsAt, report }: BulkGrant,
  { time, value }: TextStyle,
): string[] {
  return [
    ...(countsFinalTime === undefined
      ? []
      : [`The counts are final at ${time(countsFinalTime)}; a row may be granted until then.`]),
    ...(failedRowsAt
      ? [`The rows that were not granted are in ${value(addressOf(failedRowsAt))}.`]
      : []),
    ...(report === "FAILED" ? ["The report could not be sent."] : []),
  ];
}

const endings: readonly string[] = ["REJECT", "CANCEL", "EXPIRE"];

const endingOf = ({ actions }: BulkGrant): Action | undefined =>
  actions.findLast(({ action }) => endings.includes(action));

/** Who did it and, if there is one, the reason. */
export const whoOf = ({ caller, reason }: Omit<Approval, "time">, { value }: TextStyle): string =>
  value(`${displayCaller(caller)}${reason === "" ? "" : ` (${reason})`}`);

/** A command line about a bulk grant, which can be pasted into a shell. */
const commandFor = (
  { programId, bulkGrantId }: BulkGrantName,
  command: string,
  further: readonly string[] = [],
  options: readonly string[] = [],
): string => commandLine(`meguri bulk ${command}`, programId, [bulkGrantId, ...further], options);

function commandLine(
  command: string,
  programId: string,
  args: readonly string[],
  options: readonly string[],
): string {
  const program = programId === "default" ? [] : ["--program", programId];
  const all = [...options.map(shellWord), ...program];
  const words = args.map(shellWord);
  // An id that begins with a dash would be read as an option.
  const dashed = args.some((word) => word.startsWith("-"));
  return [command, ...(dashed ? [...all, "--", ...words] : [...words, ...all])].join(" ");
}

/** The origins of grants that the command can name; those of calls need no name. */
const originWords: Partial<Record<Origin, string>> = { r: "reservation", b: "bulk" };

/** The command line that makes the request once more, under an id of its own. */
function requestCommand({ programId, revision }: BulkGrant): string {
  const { request, totalPoints, cause, expireMonth } = revision;
  const { userId = "", reason, revokedEvent } = request ?? {};
  const origin = revokedEvent && originWords[revokedEvent.origin];
  const args = [userId, revokedEvent ? revokedEvent.eventId : String(totalPoints)];
  const options = [
    "--request",
    ...(reason ? [`--reason=${reason}`] : []),
    ...(cause ? [`--cause=${cause}`] : []),
    ...(origin ? [`--origin=${origin}`] : []),
    ...(expireMonth === undefined ? [] : [`--expire-month=${formatMonth(expireMonth)}`]),
  ];
  return commandLine(`meguri ${revokedEvent ? "revoke" : "grant"}`, programId, args, options);
}

/** Quotes a word that a shell would not take as it is: callers have chosen the ids. */
const shellWord = (word: string): string =>
  /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** Who has submitted what for when, and who has approved it. */
export function factsOf(bulkGrant: BulkGrant, style: TextStyle): TextLine[] {
  const { revision, approvals, checked } = bulkGrant;
  const { value, code, time } = style;
  const { alreadyGrantedCount = 0, alreadyGrantedPoints = 0 } = checked ?? {};
  const needed = neededApprovals(bulkGrant);
  const { title, cause, source, starter, rowCount } = revision;
  const { reversedBulkGrantId, sameContentBulkGrantId } = revision;
  const size =
    checked?.invalidCount === 0 ? `${rows(rowCount)}, ${members(rowCount)}` : rows(rowCount);
  return present({
    digest: code(revision.digest),
    request: requestText(revision, style),
    reason: revision.request && value(revision.request.reason),
    "submitted by": value(
      displayCaller(revision.submitter) + (source ? ` from ${withoutVersion(source)}` : ""),
    ),
    "started by": starter && value(displayCaller(starter)),
    title: title && value(title),
    cause: cause && value(cause),
    reverses: reversedBulkGrantId && code(reversedBulkGrantId),
    "in all": revision.request ? undefined : `${size}, ${points(revision.totalPoints)}`,
    "already granted":
      alreadyGrantedCount > 0
        ? `${rows(alreadyGrantedCount)}, ${points(alreadyGrantedPoints)}`
        : undefined,
    "same rows as": sameContentBulkGrantId && code(sameContentBulkGrantId),
    when: whenText(bulkGrant, style),
    approvals: needed === 0 ? "not required" : `${approvals.length} of ${needed}`,
  }).concat(
    approvals.map((approval) => ({
      name: "approved by",
      text: `${whoOf(approval, style)} at ${time(approval.time)}`,
    })),
  );
}

function whenText({ state, revision }: BulkGrant, { time }: TextStyle): string | undefined {
  if (revision.executeTime !== undefined) return `not before ${time(revision.executeTime)}`;
  return state === "AWAITING_APPROVAL" ? "as soon as it is approved" : undefined;
}

const grantedWord = (revision: Revision): string =>
  isRevocation(revision) ? "revoked" : "granted";

/** What a run has done, with the failed rows by their codes. */
export function countsText(counts: RunCounts | undefined, revision: Revision): TextLine[] {
  if (!counts) return [];
  const { grantedCount, grantedPoints, failedCount, notRunCount, problemCounts } = counts;
  const granted = `${rows(grantedCount)}, ${points(grantedPoints)}`;
  return present({
    [grantedWord(revision)]: granted,
    failed: failedCount > 0 ? `${rows(failedCount)} (${codesText(problemCounts)})` : undefined,
    "not run": notRunCount > 0 ? rows(notRunCount) : undefined,
  });
}

/** The lines that have a text. */
const present = (texts: Readonly<Record<string, string | undefined>>): TextLine[] =>
  Object.entries(texts).flatMap(([name, text]) => (text ? [{ name, text }] : []));
