/** The activities that submit sheets from sources, and pick up new files. */
import { activityInfo } from "@temporalio/activity";
import { pickUpSheet } from "../src/app/bulk-grants/pick-up-sheet.ts";
import { submitFromSource } from "../src/app/bulk-grants/submit-from-source.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import { type BulkGrantInput, bulkGrantWorkflowId } from "../src/contract/bulk-grants.ts";
import type {
  MoveFileInput,
  NewFiles,
  NewFilesInput,
  PickUpSheetInput,
  SubmitFromSourceInput,
  SubmittedFromSource,
} from "../src/contract/sheet-sources.ts";
import { DomainError } from "../src/domain/errors.ts";
import { formatInstant } from "../src/domain/month.ts";
import { check } from "./checks.ts";
import { heartbeatWhile } from "./steps.ts";

/** Each of these activities may be repeated. */
export function bulkSourceActivities(deps: Deps) {
  return {
    /** Submits a sheet from a source. Returns its name, in which `{date}` is replaced. */
    async submitFromSource(input: SubmitFromSourceInput): Promise<SubmittedFromSource> {
      const { program_id, source, start_time, execute_time } = check(input, submitFields);
      const { timeZone } = await deps.programs.get(program_id);
      const date = formatInstant(toInstant("start_time", start_time), timeZone).slice(0, 10);
      const dated = (text: string) => text.replaceAll("{date}", date);
      const bulk_grant_id = dated(input.bulk_grant_id);
      const submission = {
        programId: program_id,
        bulkGrantId: bulk_grant_id,
        source: dated(source),
        ...(execute_time !== undefined && {
          executeTime: toInstant("execute_time", execute_time),
        }),
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
      const files = items.map(({ source, bulkGrantId }) => ({
        source,
        bulk_grant_id: bulkGrantId,
      }));
      return { files, ...next };
    },

    /** Submits a new file. Returns its bulk grant; null when the file is not there any more. */
    async pickUpSheet(input: PickUpSheetInput): Promise<BulkGrantInput | null> {
      const { program_id, bulk_grant_id, source, start_time } = check(input, pickUpFields);
      const file = { programId: program_id, bulkGrantId: bulk_grant_id, source };
      const found = await heartbeatWhile(
        pickUpSheet(deps, file, toInstant("start_time", start_time)),
      );
      return found ? { program_id, bulk_grant_id: found.bulkGrantId } : null;
    },

    /** Moves a file. One that is not there any more needs no move. */
    async moveFile(input: MoveFileInput): Promise<void> {
      const { source, to } = check(input, { source: "string", to: "string" });
      await heartbeatWhile(deps.bulkSources.move(source, to));
    },
  };
}

const pickUpFields = {
  program_id: "string",
  bulk_grant_id: "string",
  source: "string",
  start_time: "string",
} as const;

const submitFields = { ...pickUpFields, execute_time: "string?" } as const;

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
