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
import type {
  MoveFileInput,
  PickUpFile,
  PickUpInput,
  PickUpResult,
} from "../src/contract/sheet-sources.ts";
import { escapeMarkdown } from "../src/domain/markdown.ts";
import { requireTexts } from "./bulk-grant.ts";
import { orRefusal, refusalOf } from "./failures.ts";
import { pickUpTiming, pollTiming } from "./timing.ts";

/** The number of files that are submitted concurrently. */
const concurrency = 4;

const { submitFromSource, listNewFiles, moveFile } = proxyActivities<Activities>(
  pickUpTiming.files,
);

const { advanceBulkGrant } = proxyActivities<Activities>(pickUpTiming.readRecord);

/**
 * Submits each new file as a bulk grant under the identity of its source. When it is validated,
 * moves the file to `done/`; to `failed/` when it is invalid or refused. The bulk grant's id names
 * the content, so pick-ups that overlap submit each file once. A file that fails otherwise stays
 * for the next pick-up.
 */
export async function pickUpSheets(input: PickUpInput): Promise<PickUpResult> {
  requireTexts(input, ["source_name", "program_id"]);
  const { source_name, program_id } = input;
  let { submitted, failed } = input.so_far ?? { submitted: [], failed: [] };
  for (;;) {
    const listed = await orRefusal(listNewFiles({ source_name }));
    const seen = new Set([...submitted, ...failed.map(({ source }) => source)]);
    const files = listed.filter(({ source }) => !seen.has(source));
    if (files.length === 0) break;
    await forEach(files, async (file) => {
      const reason = await pickUp(program_id, file);
      const { source } = file;
      if (reason === undefined) submitted = [...submitted, source];
      else failed = [...failed, { source, reason }];
      setCurrentDetails(detailsOf({ submitted, failed }));
    });
    if (workflowInfo().continueAsNewSuggested) {
      const so_far = { submitted, failed };
      await continueAsNew<typeof pickUpSheets>({ source_name, program_id, so_far });
    }
  }
  setCurrentDetails(detailsOf({ submitted, failed }));
  return { submitted, failed };
}

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

/** Returns why the file has failed; undefined when it was submitted and is valid. */
async function pickUp(
  program_id: string,
  { source, bulk_grant_id }: PickUpFile,
): Promise<string | undefined> {
  const start_time = workflowInfo().startTime.toISOString();
  try {
    const key = await submitFromSource({
      program_id,
      bulk_grant_id,
      source,
      start_time,
      is_picked_up: true,
    });
    const state = await stateAfterValidation(key);
    if (state === "VALIDATING") return state;
    await moveAway({ source, to: state === "INVALID" ? "failed" : "done" });
    return state === "INVALID" ? state : undefined;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const refusal = refusalOf(error);
    if (!refusal) return "INTERNAL";
    await moveAway({ source, to: "failed" });
    return refusal.type ?? "INTERNAL";
  }
}

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
async function moveAway(input: MoveFileInput): Promise<void> {
  try {
    await moveFile(input);
  } catch (error) {
    if (isCancellation(error)) throw error;
  }
}

const detailsOf = ({ submitted, failed }: PickUpResult): string =>
  [
    `${submitted.length} files submitted, ${failed.length} failed.`,
    "",
    ...failed.map(({ source, reason }) => `- ${escapeMarkdown(source)}: ${escapeMarkdown(reason)}`),
  ].join("\n");
