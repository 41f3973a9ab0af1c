/** The activities that submit sheets from sources, and pick up new files. */
import { activityInfo } from "@temporalio/activity";
import { bulkGrantWorkflowId } from "../../src/bulk-grants/contract/bulk-grants.ts";
import {
  bulkGrantOfRows,
  cause,
  moveFileInput,
  newFilesInput,
  pickUpReportInput,
  pickUpSheetInput,
  submitFromSourceInput,
  writeRefusalInput,
} from "../../src/bulk-grants/contract/payloads.ts";
import type {
  FileAddress,
  NewFiles,
  PickedUpFile,
  SubmittedByRun,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import type { BulkGrantName } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { addressOf } from "../../src/bulk-grants/rules/bulk-grant-text.ts";
import {
  moveSheet,
  pickUpSheet,
  reportPickUp,
} from "../../src/bulk-grants/use-cases/pick-up-sheet.ts";
import { submitFromSource } from "../../src/bulk-grants/use-cases/submit-from-source.ts";
import { submitRowsOfRun } from "../../src/bulk-grants/use-cases/submit-rows-of-run.ts";
import { writeRefusal } from "../../src/bulk-grants/use-cases/write-refusal.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import { formatInstant } from "../../src/platform/words/month.ts";
import { checked, readPayload } from "../checked.ts";
import { auditOf, starterOfRun } from "../operators.ts";
import { heartbeatWhile } from "../steps.ts";

/** The method that does what runs do which submit. */
const submitMethod = "SubmitBulkGrant";

/** What the run with a workflow id has submitted. */
const toSubmitted = (
  { programId, bulkGrantId }: BulkGrantName,
  workflowId: string | undefined,
): SubmittedByRun => ({
  program_id: programId,
  bulk_grant_id: bulkGrantId,
  is_own: workflowId === bulkGrantWorkflowId(programId, bulkGrantId),
});

/** Each of these activities may be repeated, except for the report. */
export function bulkSourceActivities(deps: WorkerDeps, { onFailed }: Pick<Observers, "onFailed">) {
  return {
    /** Submits a sheet from a source. Returns its name, in which `{date}` is replaced. */
    submitFromSource: checked([submitFromSourceInput], async (input): Promise<SubmittedByRun> => {
      const { programId, subject, startTime, ...sheet } = input;
      const { timeZone } = await deps.programs.get(programId);
      const date = formatInstant(startTime, timeZone).slice(0, 10);
      const dated = (text: string) => text.replaceAll("{date}", date);
      const bulkGrantId = dated(sheet.bulkGrantId);
      const starter = await starterOfRun(subject);
      const submission = {
        ...sheet,
        programId,
        bulkGrantId,
        source: dated(sheet.source),
        title: sheet.title && dated(sheet.title),
        cause: sheet.cause && readPayload(cause, dated(sheet.cause), "cause"),
        starter,
        audit: auditOf(starter, submitMethod),
      };
      await heartbeatWhile(submitFromSource(deps, submission));
      const { workflowId } = activityInfo().workflowExecution ?? {};
      return toSubmitted({ programId, bulkGrantId }, workflowId);
    }),

    /**
     * Submits the rows of a run's input under the name of its starter. A name that the input claims
     * hides no schedule and no client: neither approves. Returns what it made.
     */
    submitRows: checked([bulkGrantOfRows], async (input): Promise<SubmittedByRun> => {
      const { rows, subject, ...submission } = input;
      const submitter = await starterOfRun(subject);
      const starter = subject ? await starterOfRun(undefined) : undefined;
      const { workflowId = "" } = activityInfo().workflowExecution ?? {};
      const audit = auditOf(submitter, submitMethod);
      const submitted = { ...submission, submitter, starter, audit, workflowId };
      await heartbeatWhile(submitRowsOfRun(deps, submitted, rows));
      return toSubmitted(submission, workflowId);
    }),

    /** Lists a page of the new files of a source. */
    listNewFiles: checked([newFilesInput], async ({ sourceName, cursor }): Promise<NewFiles> => {
      const { items, ...next } = await heartbeatWhile(deps.bulkSources.listNew(sourceName, cursor));
      const files = items.map(({ source, bulkGrantId, title }) => ({
        source,
        bulk_grant_id: bulkGrantId,
        title,
      }));
      return { files, ...next };
    }),

    /** Submits a new file. Returns its bulk grant, unless the file is not there any more. */
    pickUpSheet: checked([pickUpSheetInput], async (input): Promise<PickedUpFile> => {
      const { startTime, ...file } = input;
      const starter = await starterOfRun(undefined);
      const submitted = { ...file, starter, audit: auditOf(starter, submitMethod) };
      const found = await heartbeatWhile(pickUpSheet(deps, submitted, startTime));
      if (!found) return {};
      const { bulkGrantId, revision } = found;
      return { sheet: { program_id: file.programId, bulk_grant_id: bulkGrantId, revision } };
    }),

    /** Writes what is wrong with a file that was refused. Returns where. */
    writeRefusal: checked([writeRefusalInput], async (sheet): Promise<FileAddress> => {
      const address = addressOf(await heartbeatWhile(writeRefusal(deps, sheet)));
      return { address };
    }),

    /** Reports once which files were refused or left. Must not be repeated. */
    reportPickUp: checked([pickUpReportInput], async ({ files: sheets, ...report }) => {
      const workflowId = activityInfo().workflowExecution?.workflowId ?? "";
      for (const { reason } of sheets) onFailed("pick_up", reason);
      await reportPickUp(deps, { ...report, sheets, workflowId });
    }),

    /** Moves a file. Returns where it is then, unless it is not there any more. */
    moveFile: checked([moveFileInput], async (input): Promise<FileAddress> => {
      const { source, to, programId, bulkGrantId } = input;
      const bulkGrant = bulkGrantId === undefined ? undefined : { programId, bulkGrantId };
      const moved = await heartbeatWhile(moveSheet(deps, { source, to, bulkGrant }));
      return moved ? { address: addressOf(moved) } : {};
    }),
  };
}
