/** The activities that submit sheets from sources, and pick up new files. */
import { activityInfo } from "@temporalio/activity";
import { readBulkGrant } from "../src/app/bulk-grants/bulk-grant-record.ts";
import { submitFromSource } from "../src/app/bulk-grants/submit-from-source.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import { bulkGrantWorkflowId } from "../src/contract/bulk-grants.ts";
import type {
  MoveFileInput,
  NewFiles,
  NewFilesInput,
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
      // The name of a new file is taken as it is.
      const dated = (text: string) => (input.is_picked_up ? text : text.replaceAll("{date}", date));
      const bulk_grant_id = dated(input.bulk_grant_id);
      const submission = {
        programId: program_id,
        bulkGrantId: bulk_grant_id,
        source: dated(source),
        ...(execute_time !== undefined && {
          executeTime: toInstant("execute_time", execute_time),
        }),
      };
      try {
        await heartbeatWhile(submitFromSource(deps, submission));
      } catch (error) {
        if (!input.is_picked_up || !isInvalidRequest(error)) throw error;
        // Another pick-up may have submitted and moved the file since it was listed.
        if (!(await exists(deps, submission))) throw error;
      }
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

    /** Moves a file. One that is not there any more needs no move. */
    async moveFile(input: MoveFileInput): Promise<void> {
      const { source, to } = check(input, { source: "string", to: "string" });
      await heartbeatWhile(deps.bulkSources.move(source, to));
    },
  };
}

const submitFields = {
  program_id: "string",
  bulk_grant_id: "string",
  source: "string",
  start_time: "string",
  execute_time: "string?",
};

const isInvalidRequest = (error: unknown): boolean =>
  error instanceof DomainError && error.reason === "INVALID_REQUEST";

async function exists(deps: Deps, name: Parameters<typeof readBulkGrant>[1]): Promise<boolean> {
  try {
    await readBulkGrant(deps, name);
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.reason === "BULK_GRANT_NOT_FOUND") return false;
    throw error;
  }
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
