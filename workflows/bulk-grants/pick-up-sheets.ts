/** The workflow that submits the new files of a source, and moves them away. */
import { ApplicationFailure } from "@temporalio/common";
import {
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import type { BulkGrantView } from "../../src/bulk-grants/contract/bulk-grants.ts";
import type {
  FileWithReason,
  MoveFileInput,
  WriteRefusalInput,
} from "../../src/bulk-grants/contract/payloads.ts";
import {
  type PickedUpSheet,
  type PickUpFailure,
  type PickUpFile,
  type PickUpInput,
  type PickUpResult,
  pickUpHowToEnd,
  pickUpIncomplete,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import { withoutControls } from "../../src/platform/words/controls.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import { showDetails } from "../details.ts";
import { refusalOf, refuse, unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { pickUpTiming, pollTiming } from "../timing.ts";

/** So many files are read at a time. Those that are validated or moved hold up no other file. */
const maxRead = 4;

/** The details, and the message of a failure, name at most this many files of a list. */
const maxNamed = 20;

/** The failure of a pick-up names at most this many files that people know of. */
const maxKnown = 100;

const { pickUpSheet, listNewFiles } = proxyActivities<Activities>(pickUpTiming.files);

const { moveFile, writeRefusal } = proxyActivities<Activities>(pickUpTiming.move);

const { advanceBulkGrant } = proxyActivities<Activities>(pickUpTiming.readRecord);

const { reportPickUp } = proxyActivities<Activities>(pickUpTiming.report);

/**
 * Submits each new file to its bulk grant under the identity of its source. When it is validated,
 * moves the file to `done/`; to `failed/` when it is invalid or refused. A content is one revision
 * of a bulk grant, so pick-ups that overlap submit each file once. Fails with PICK_UP_INCOMPLETE
 * when all files are taken and some of them are left in the source, so that an operator looks after
 * them; the next pick-up takes them again. A report at the end says which files were refused, and
 * which are left for the first time.
 */
export async function pickUpSheets(input: PickUpInput): Promise<PickUpResult> {
  requireFields(input, { source_name: "string", program_id: "string" });
  const { source_name, program_id, known = knownBefore() } = input;
  let result: PickUpResult = input.so_far ?? { submitted: [], failed: [], left: [] };
  let cursor: string | undefined;
  /** Files that were gone when they were to be read; a listing may lag behind. */
  const gone = new Set<string>();
  /** The number of files that were taken since the listing began. */
  let taken = 0;
  const limit = createLimit(maxRead);
  for (;;) {
    const at = cursor === undefined ? {} : { cursor };
    const listed = await unwrapRefusal(listNewFiles({ source_name, ...at }));
    const seen = seenOf(result);
    const files = listed.files.filter(({ source }) => !seen.has(source) && !gone.has(source));
    await Promise.all(
      files.map(async (file) => {
        const outcome = await pickUp(program_id, file, limit);
        if (outcome) result = added(result, outcome);
        else gone.add(file.source);
        showDetails(pickUpHowToEnd, reportOf(result, escapeMarkdown));
      }),
    );
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof pickUpSheets>({ source_name, program_id, so_far: result, known });
    }
    taken += files.length;
    cursor = listed.cursor;
    if (cursor !== undefined) continue;
    // Moves shift the pages of some sources, and files may have come: the list is read once more.
    if (taken === 0) break;
    taken = 0;
  }
  showDetails(pickUpHowToEnd, reportOf(result, escapeMarkdown));
  const isReported = await reportFiles(program_id, result, new Set(known));
  if (result.left.length === 0) return result;
  const stuck = result.left.filter(isStuck).map(({ source }) => source);
  const failure: PickUpFailure = {
    known: stuck.filter((source) => isReported || known.includes(source)).slice(0, maxKnown),
  };
  throw refuse(reportOf(result, withoutControls), pickUpIncomplete, [failure]);
}

/** Whether somebody has to look after a file that is left. */
const isStuck = ({ reason }: FileWithReason): boolean => reason !== "VALIDATING";

/** The files that the last pick-up of the schedule has left, if it has reported them. */
function knownBefore(): readonly string[] {
  const { lastFailure } = workflowInfo();
  if (!(lastFailure instanceof ApplicationFailure)) return [];
  const [detail] = (lastFailure.details ?? []) as readonly (PickUpFailure | undefined)[];
  return lastFailure.type === pickUpIncomplete ? (detail?.known ?? []) : [];
}

/**
 * Reports which files were refused or left, once. The wrong rows of a file that was submitted
 * are reported by its bulk grant. Returns false when a message may be missing.
 */
async function reportFiles(
  program_id: string,
  { failed, left }: PickUpResult,
  known: ReadonlySet<string>,
): Promise<boolean> {
  const refused = failed.filter(({ reason }) => reason !== "INVALID");
  const refusedSources = new Set(refused.map(({ source }) => source));
  const stuck = left.filter((file) => isStuck(file) && !refusedSources.has(file.source));
  const files = [...refused, ...stuck].filter(({ source }) => !known.has(source));
  if (files.length === 0) return true;
  const more_count = Math.max(0, files.length - maxNamed);
  try {
    await reportPickUp({ program_id, files: files.slice(0, maxNamed), more_count });
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return false;
  }
}

const seenOf = ({ submitted, failed, left }: PickUpResult): ReadonlySet<string> =>
  new Set([...submitted, ...[...failed, ...left].map(({ source }) => source)]);

const added = (total: PickUpResult, next: Partial<PickUpResult>): PickUpResult => ({
  submitted: [...total.submitted, ...(next.submitted ?? [])],
  failed: [...total.failed, ...(next.failed ?? [])],
  left: [...total.left, ...(next.left ?? [])],
});

/** Calls a function as soon as fewer than a number of its calls are under way. */
type Limit = <T>(use: () => Promise<T>) => Promise<T>;

/** Returns a function that calls `use` when fewer than `most` of its calls are under way. */
function createLimit(most: number): Limit {
  let busy = 0;
  return async (use) => {
    while (busy >= most) await condition(() => busy < most);
    busy += 1;
    try {
      return await use();
    } finally {
      busy -= 1;
    }
  };
}

/** Where a file is after its move, or the file that is left because it was not moved. */
interface Moved {
  readonly movedTo?: string | undefined;
  readonly left?: readonly FileWithReason[];
}

/** Submits a file and moves it away. Returns what became of it; undefined when it was gone. */
async function pickUp(
  program_id: string,
  { source, bulk_grant_id, title }: PickUpFile,
  limit: Limit,
): Promise<Partial<PickUpResult> | undefined> {
  const start_time = workflowInfo().startTime.toISOString();
  try {
    const input = { program_id, bulk_grant_id, source, title, start_time };
    const { sheet } = await limit(() => pickUpSheet(input));
    // Another pick-up may have submitted and moved the file since it was listed.
    if (!sheet) return undefined;
    const { revision, ...key } = sheet;
    const { state, failed_rows_at, revision: current } = await validated(sheet);
    if (current !== revision) return await replaced(sheet, source);
    const file = { source, reason: state, message: `bulk grant ${key.bulk_grant_id}` };
    if (state === "VALIDATING") return { left: [file] };
    if (state === "INVALID") return await failed(key, file, failed_rows_at);
    const { left = [] } = await moveAway({ ...key, source, to: "done" });
    return { submitted: [source], left };
  } catch (error) {
    if (isCancellation(error)) throw error;
    const refusal = refusalOf(error);
    if (!refusal) return { left: [{ source, reason: "INTERNAL" }] };
    const { type, message } = refusal;
    const file = { source, reason: type ?? "INTERNAL", message };
    // Nothing is wrong with the file: the source may not grant in the program, or not read it.
    if (type === "PERMISSION_DENIED") return { left: [file] };
    const errorsAt = await limit(() => errorsOf({ program_id, bulk_grant_id, ...file }));
    return failed({ program_id }, file, errorsAt);
  }
}

/** A corrected file came before anybody read what is wrong with this one. */
function replaced({ program_id, bulk_grant_id, revision }: PickedUpSheet, source: string) {
  const message = `revision ${revision} of ${bulk_grant_id} had this content and was replaced`;
  return failed({ program_id }, { source, reason: "WRONG_STATE", message }, undefined);
}

/** Moves a file that failed to `failed`. `errorsAt` is where all that is wrong with it stands. */
async function failed(
  of: Pick<MoveFileInput, "program_id" | "bulk_grant_id">,
  file: FileWithReason,
  errorsAt: string | undefined,
): Promise<Partial<PickUpResult>> {
  const { movedTo, left = [] } = await moveAway({ ...of, source: file.source, to: "failed" });
  return { failed: [{ ...file, errors_at: errorsAt, moved_to: movedTo }], left };
}

/**
 * Reads the record until the rows of the sheet are checked, and until the wrong ones are in the
 * source, or until the sheet was replaced.
 */
async function validated({ revision, ...key }: PickedUpSheet): Promise<BulkGrantView> {
  const { firstMs, factor, mostMs } = pollTiming;
  const limit = Date.now() + pickUpTiming.validationMs;
  for (let pause: number = firstMs; ; pause = Math.min(pause * factor, mostMs)) {
    const view = await advanceBulkGrant(key);
    const isWritten = view.step !== "REPORT" || view.failed_rows_at !== undefined;
    const isOver = view.state === "INVALID" ? isWritten : view.state !== "VALIDATING";
    if (isOver || view.revision !== revision || Date.now() > limit) return view;
    await sleep(pause);
  }
}

/** Writes what is wrong with a refused file to its source. Returns where; undefined if it fails. */
async function errorsOf(input: WriteRefusalInput): Promise<string | undefined> {
  try {
    const written = await writeRefusal(input);
    return written.address;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return undefined;
  }
}

/**
 * Moves a file, and returns where it is then. A file that cannot be moved stays; the next pick-up
 * finds that it is submitted, and moves it.
 */
async function moveAway(input: MoveFileInput): Promise<Moved> {
  try {
    const moved = await moveFile(input);
    return { movedTo: moved.address };
  } catch (error) {
    if (isCancellation(error)) throw error;
    const message = refusalOf(error)?.message;
    const file = { source: input.source, reason: "NOT_MOVED", message: message || undefined };
    return { left: [file] };
  }
}

/** The numbers of files, and the first that failed or are left, as an operator reads them. */
function reportOf(
  { submitted, failed, left }: PickUpResult,
  spell: (text: string) => string,
): string {
  const { length: taken } = submitted;
  const takenFiles = quantity(taken, "file");
  const numbers = `${takenFiles} submitted, ${failed.length} failed, ${left.length} left.`;
  const lists = [failed, left].map((files) => [
    ...files.slice(0, maxNamed).map((file) => `- ${spell(textOf(file))}`),
    ...(files.length > maxNamed ? [`- and ${files.length - maxNamed} more`] : []),
  ]);
  const parts = [numbers, ...lists.map((lines) => lines.join("\n"))];
  return parts.filter((part) => part !== "").join("\n\n");
}

const textOf = ({ source, reason, message, errors_at, moved_to }: FileWithReason): string =>
  [
    `${source}: ${reason}${message === undefined ? "" : ` (${message})`}`,
    ...(errors_at === undefined ? [] : [`errors in ${errors_at}`]),
    ...(moved_to === undefined ? [] : [`moved to ${moved_to}`]),
  ].join("; ");
