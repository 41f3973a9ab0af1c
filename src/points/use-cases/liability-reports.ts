/** The use cases that create, finish and read liability reports. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { requestHash } from "../../platform/work/idempotency.ts";
import type { Deps } from "../ports/deps.ts";
import { liabilityReportRef } from "../ports/records.ts";
import { type CountedLiability, finishReport, type LiabilityReport } from "../rules/liability.ts";
import { programAsOf } from "../rules/past.ts";

/** Names a report. */
interface ReportName {
  readonly programId: string;
  readonly reportId: string;
}

/**
 * Writes the record of a report as of this instant, then starts its workflow. A repeated call
 * starts the workflow of a report without a result again, unless it is running. Refusals:
 * PROGRAM_NOT_FOUND, INVALID_REQUEST for a `since` that is not past, ID_REUSED. Retryable:
 * WORKFLOWS_UNAVAILABLE.
 */
export async function createLiabilityReport(
  deps: Pick<Deps, "engine" | "programs" | "workflows">,
  input: ReportName & {
    readonly since?: Instant | undefined;
    readonly caller: Caller;
    readonly deadline?: number | undefined;
  },
): Promise<LiabilityReport & { readonly replayed: boolean }> {
  const { programId, reportId, since, caller, deadline } = input;
  await deps.programs.get(programId);
  const hash = requestHash("liability-report", caller, { since });
  const { record, isChanged } = await changeRecord(
    deps,
    { ref: liabilityReportRef(programId, reportId), expectAbsent: true, deadline },
    (existing, { calendar: asOf }): LiabilityReport => {
      if (existing) return existing;
      if (since !== undefined && since >= asOf) {
        throw new DomainError("INVALID_REQUEST", "since is not past", { field: "since" });
      }
      return { programId, reportId, hash, caller, asOf, ...(since !== undefined && { since }) };
    },
  );
  if (record.hash !== hash) {
    throw new DomainError("ID_REUSED", "this report_id was used for another request");
  }
  if (!record.result) await deps.workflows.startLiabilityReport(record);
  return { ...record, replayed: !isChanged };
}

/**
 * Keeps the result of a report, in the place of an earlier one, and returns the report. Refusals:
 * PROGRAM_NOT_FOUND, LIABILITY_REPORT_NOT_FOUND.
 */
export async function keepLiability(
  deps: Pick<Deps, "engine" | "programs">,
  { programId, reportId }: ReportName,
  counted: CountedLiability,
): Promise<LiabilityReport> {
  const program = await deps.programs.get(programId);
  const { record } = await changeRecord(
    deps,
    { ref: liabilityReportRef(programId, reportId) },
    (report, { calendar }) => {
      if (!report) throw notFound();
      return finishReport(report, programAsOf(program, report.asOf), counted, calendar);
    },
  );
  return record;
}

/** Reads a report. Refusals: PROGRAM_NOT_FOUND, LIABILITY_REPORT_NOT_FOUND. */
export async function getLiabilityReport(
  deps: Pick<Deps, "reader" | "programs">,
  { programId, reportId }: ReportName,
): Promise<LiabilityReport> {
  await deps.programs.get(programId);
  const found = await deps.reader.get(liabilityReportRef(programId, reportId));
  if (!found) throw notFound();
  return found.value;
}

/** Lists reports by their ids. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a bad cursor. */
export async function listLiabilityReports(
  deps: Pick<Deps, "reader" | "programs">,
  programId: string,
  page: PageRequest,
): Promise<Page<LiabilityReport>> {
  await deps.programs.get(programId);
  return deps.reader.liabilityReports(programId, page);
}

const notFound = () =>
  new DomainError("LIABILITY_REPORT_NOT_FOUND", "there is no such liability report");
