/** The activities that submit sheets from sources, and pick up new files. */
import { activityInfo } from "@temporalio/activity";
import { bulkGrantWorkflowId } from "../../src/bulk-grants/contract/bulk-grants.ts";
import type {
  FileAddress,
  MoveFileInput,
  NewFiles,
  NewFilesInput,
  PickedUpFile,
  PickUpReportInput,
  PickUpSheetInput,
  SubmitFromSourceInput,
  SubmittedFromSource,
  WriteRefusalInput,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import { addressOf } from "../../src/bulk-grants/rules/bulk-grant-text.ts";
import {
  moveSheet,
  pickUpSheet,
  reportPickUp,
} from "../../src/bulk-grants/use-cases/pick-up-sheet.ts";
import { submitFromSource } from "../../src/bulk-grants/use-cases/submit-from-source.ts";
import { writeRefusal } from "../../src/bulk-grants/use-cases/write-refusal.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { hasControls } from "../../src/platform/words/controls.ts";
import { maxCauseBytes } from "../../src/platform/words/display-text.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { formatInstant, isMonth, type Month, parseMonth } from "../../src/platform/words/month.ts";
import { check } from "../checks.ts";
import { starterOfRun } from "../operators.ts";
import { heartbeatWhile } from "../steps.ts";

/** Each of these activities may be repeated, except for the report. */
export function bulkSourceActivities(deps: Deps) {
  return {
    /** Submits a sheet from a source. Returns its name, in which `{date}` is replaced. */
    async submitFromSource(input: SubmitFromSourceInput): Promise<SubmittedFromSource> {
      const fields = check(input, submitFields);
      const { program_id, source, title, cause, subject, start_time, execute_time } = fields;
      const { expire_month } = fields;
      const { timeZone } = await deps.programs.get(program_id);
      const date = formatInstant(toInstant("start_time", start_time), timeZone).slice(0, 10);
      const dated = (text: string) => text.replaceAll("{date}", date);
      const bulk_grant_id = dated(input.bulk_grant_id);
      const submission = {
        programId: program_id,
        bulkGrantId: bulk_grant_id,
        source: dated(source),
        title: title && dated(title),
        cause: cause && checkedText("cause", dated(cause), maxCauseBytes),
        starter: await starterOfRun(subject && checkedText("subject", subject, maxNameBytes)),
        executeTime:
          execute_time === undefined ? undefined : toInstant("execute_time", execute_time),
        expireMonth: expire_month === undefined ? undefined : toMonth(expire_month),
      };
      await heartbeatWhile(submitFromSource(deps, submission));
      const workflowId = bulkGrantWorkflowId(program_id, bulk_grant_id);
      const is_own = activityInfo().workflowExecution?.workflowId === workflowId;
      return { program_id, bulk_grant_id, is_own };
    },

    /** Lists a page of the new files of a source. */
    async listNewFiles(input: NewFilesInput): Promise<NewFiles> {
      const { source_name, cursor } = check(input, { source_name: "string", cursor: "string?" });
      const { items, ...next } = await heartbeatWhile(
        deps.bulkSources.listNew(source_name, cursor),
      );
      const files = items.map(({ source, bulkGrantId, title }) => ({
        source,
        bulk_grant_id: bulkGrantId,
        title,
      }));
      return { files, ...next };
    },

    /** Submits a new file. Returns its bulk grant, unless the file is not there any more. */
    async pickUpSheet(input: PickUpSheetInput): Promise<PickedUpFile> {
      const { program_id, bulk_grant_id, source, title, start_time } = check(input, pickUpFields);
      const starter = await starterOfRun(undefined);
      const file = { programId: program_id, bulkGrantId: bulk_grant_id, source, title, starter };
      const found = await heartbeatWhile(
        pickUpSheet(deps, file, toInstant("start_time", start_time)),
      );
      if (!found) return {};
      const { bulkGrantId, revision } = found;
      return { sheet: { program_id, bulk_grant_id: bulkGrantId, revision } };
    },

    /** Writes what is wrong with a file that was refused. Returns where. */
    async writeRefusal(input: WriteRefusalInput): Promise<FileAddress> {
      const { program_id, bulk_grant_id, source, reason, message } = check(input, refusalFields);
      const sheet = { programId: program_id, bulkGrantId: bulk_grant_id, source, reason, message };
      const place = addressOf(await heartbeatWhile(writeRefusal(deps, sheet)));
      return { place };
    },

    /** Tells people once which files were refused or left. Must not be repeated. */
    async reportPickUp({ program_id, files, more_count }: PickUpReportInput): Promise<void> {
      const sheets = files.map(({ errors_at, moved_to, ...file }) => ({
        ...file,
        errorsAt: errors_at,
        movedTo: moved_to,
      }));
      const workflowId = activityInfo().workflowExecution?.workflowId ?? "";
      const report = { programId: program_id, sheets, moreCount: more_count, workflowId };
      await reportPickUp(deps, report);
    },

    /** Moves a file. Returns where it is then, unless it is not there any more. */
    async moveFile(input: MoveFileInput): Promise<FileAddress> {
      const { source, to, program_id, bulk_grant_id } = check(input, moveFields);
      const bulkGrant =
        bulk_grant_id === undefined
          ? undefined
          : { programId: program_id, bulkGrantId: bulk_grant_id };
      const place = await heartbeatWhile(moveSheet(deps, { source, to, bulkGrant }));
      return place ? { place: addressOf(place) } : {};
    },
  };
}

const pickUpFields = {
  program_id: "string",
  bulk_grant_id: "string",
  source: "string",
  title: "string",
  start_time: "string",
} as const;

const moveFields = {
  program_id: "string",
  bulk_grant_id: "string?",
  source: "string",
  to: "string",
} as const;

const refusalFields = {
  program_id: "string",
  bulk_grant_id: "string",
  source: "string",
  reason: "string",
  message: "string",
} as const;

const submitFields = {
  ...pickUpFields,
  title: "string?",
  cause: "string?",
  subject: "string?",
  execute_time: "string?",
  expire_month: "string?",
} as const;

/** Parses a month such as 2026-11. Throws INVALID_REQUEST. */
function toMonth(text: string): Month {
  if (isMonth(text)) return parseMonth(text);
  throw new DomainError("INVALID_REQUEST", "expire_month: a month such as 2026-11", {
    field: "expire_month",
  });
}

/** The most bytes of the name that an input claims. */
const maxNameBytes = 64;

/** Checks a text as the contract does. Throws INVALID_REQUEST. */
function checkedText(field: string, text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes && !hasControls(text)) return text;
  throw new DomainError(
    "INVALID_REQUEST",
    `${field}: at most ${maxBytes} bytes, without control characters and bidirectional controls`,
    { field },
  );
}

/** Reads RFC 3339 with a zone. Throws INVALID_REQUEST. */
function toInstant(field: string, time: string): number {
  const instant = rfc3339.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isFinite(instant)) return instant;
  throw new DomainError(
    "INVALID_REQUEST",
    `${field}: must be RFC 3339 with a zone, such as "2026-12-01T00:00:00+09:00"`,
    { field },
  );
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
