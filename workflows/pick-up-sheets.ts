/** The workflow that submits the new files of a source, and moves them away. */
import {
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { BulkGrantInput } from "../src/contract/bulk-grants.ts";
import {
  type MoveFileInput,
  type PickUpFile,
  type PickUpInput,
  type PickUpResult,
  pickUpIncomplete,
} from "../src/contract/sheet-sources.ts";
import { escapeMarkdown } from "../src/domain/markdown.ts";
import { requireTexts } from "./bulk-grant.ts";
import { orRefusal, refusalOf, refuse } from "./failures.ts";
import { pickUpTiming, pollTiming } from "./timing.ts";

/** The number of files that are submitted concurrently. */
const concurrency = 4;

/** The details, and the message of a failure, name at most this many files of a list. */
const maxNamed = 20;

const { pickUpSheet, listNewFiles } = proxyActivities<Activities>(pickUpTiming.files);

const { moveFile } = proxyActivities<Activities>(pickUpTiming.move);

const { advanceBulkGrant } = proxyActivities<Activities>(pickUpTiming.readRecord);

/**
 * Submits each new file to its bulk grant under the identity of its source. When it is validated,
 * moves the file to `done/`; to `failed/` when it is invalid or refused. A content is one revision
 * of a bulk grant, so pick-ups that overlap submit each file once. Fails with PICK_UP_INCOMPLETE
 * when all files are taken and some of them are left in the source, so that an operator looks after
 * them; the next pick-up takes them again.
 */
export async function pickUpSheets(input: PickUpInput): Promise<PickUpResult> {
  requireTexts(input, ["source_name", "program_id"]);
  const { source_name, program_id } = input;
  let result: PickUpResult = input.so_far ?? { submitted: [], failed: [], left: [] };
  let cursor: string | undefined;
  /** Files that were gone when they were to be read; a listing may lag behind. */
  const gone = new Set<string>();
  /** The number of files that were taken since the listing began. */
  let taken = 0;
  for (;;) {
    const at = cursor === undefined ? {} : { cursor };
    const listed = await orRefusal(listNewFiles({ source_name, ...at }));
    const seen = seenOf(result);
    const files = listed.files.filter(({ source }) => !seen.has(source) && !gone.has(source));
    await forEach(files, async (file) => {
      const outcome = await pickUp(program_id, file);
      if (outcome) result = added(result, outcome);
      else gone.add(file.source);
      setCurrentDetails(reportOf(result, escapeMarkdown));
    });
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof pickUpSheets>({ source_name, program_id, so_far: result });
    }
    taken += files.length;
    cursor = listed.cursor;
    if (cursor !== undefined) continue;
    // Moves shift the pages of some sources, and files may have come: the list is read once more.
    if (taken === 0) break;
    taken = 0;
  }
  setCurrentDetails(reportOf(result, escapeMarkdown));
  if (result.left.length > 0) throw refuse(reportOf(result, String), pickUpIncomplete);
  return result;
}

const seenOf = ({ submitted, failed, left }: PickUpResult): ReadonlySet<string> =>
  new Set([...submitted, ...[...failed, ...left].map(({ source }) => source)]);

const added = (total: PickUpResult, next: Partial<PickUpResult>): PickUpResult => ({
  submitted: [...total.submitted, ...(next.submitted ?? [])],
  failed: [...total.failed, ...(next.failed ?? [])],
  left: [...total.left, ...(next.left ?? [])],
});

async function forEach(
  files: readonly PickUpFile[],
  pickUp: (file: PickUpFile) => Promise<void>,
): Promise<void> {
  const queue = [...files];
  const work = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) await pickUp(file);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Submits a file and moves it away. Returns what became of it; undefined when it was gone. */
async function pickUp(
  program_id: string,
  { source, bulk_grant_id }: PickUpFile,
): Promise<Partial<PickUpResult> | undefined> {
  const start_time = workflowInfo().startTime.toISOString();
  try {
    const key = await pickUpSheet({ program_id, bulk_grant_id, source, start_time });
    // Another pick-up may have submitted and moved the file since it was listed.
    if (!key) return undefined;
    const state = await stateAfterValidation(key);
    const message = `bulk grant ${key.bulk_grant_id}`;
    if (state === "VALIDATING") return { left: [{ source, reason: state, message }] };
    if (state === "INVALID") return await failed({ source, reason: state, message });
    return { submitted: [source], ...(await moveAway({ source, to: "done" })) };
  } catch (error) {
    if (isCancellation(error)) throw error;
    const refusal = refusalOf(error);
    if (!refusal) return { left: [{ source, reason: "INTERNAL" }] };
    return failed({ source, reason: refusal.type ?? "INTERNAL", message: refusal.message });
  }
}

const failed = async (file: PickUpResult["failed"][number]): Promise<Partial<PickUpResult>> => ({
  failed: [file],
  ...(await moveAway({ source: file.source, to: "failed" })),
});

async function stateAfterValidation(key: BulkGrantInput): Promise<string> {
  const { firstMs, factor, mostMs } = pollTiming;
  const limit = Date.now() + pickUpTiming.validationMs;
  for (let pause: number = firstMs; ; pause = Math.min(pause * factor, mostMs)) {
    const { state } = await advanceBulkGrant(key);
    if (state !== "VALIDATING" || Date.now() > limit) return state;
    await sleep(pause);
  }
}

/** A file that cannot be moved stays; the next pick-up finds that it is submitted, and moves it. */
async function moveAway(input: MoveFileInput): Promise<Pick<PickUpResult, "left"> | undefined> {
  try {
    await moveFile(input);
    return undefined;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { left: [{ source: input.source, reason: "NOT_MOVED" }] };
  }
}

/** The numbers of files, and the first that failed or are left, as an operator reads them. */
function reportOf(
  { submitted, failed, left }: PickUpResult,
  spell: (text: string) => string,
): string {
  const { length: taken } = submitted;
  const numbers = `${taken} files submitted, ${failed.length} failed, ${left.length} left.`;
  const lists = [failed, left].map((files) => [
    ...files.slice(0, maxNamed).map((file) => `- ${spell(textOf(file))}`),
    ...(files.length > maxNamed ? [`- and ${files.length - maxNamed} more`] : []),
  ]);
  const parts = [numbers, ...lists.map((lines) => lines.join("\n"))];
  return parts.filter((part) => part !== "").join("\n\n");
}

const textOf = ({ source, reason, message }: PickUpResult["failed"][number]): string =>
  `${source}: ${reason}${message === undefined ? "" : ` (${message})`}`;
