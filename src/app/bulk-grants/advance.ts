/** What the workflow of a bulk grant does between its steps: it moves the record on and reports. */

import { bulkGrantWorkflowId } from "../../contract/bulk-grants.ts";
import { type BulkGrant, type BulkGrantStep, nextStep } from "../../domain/bulk-grant.ts";
import { expire, start } from "../../domain/bulk-grant-changes.ts";
import type { Instant } from "../../domain/month.ts";
import type { BulkGrantReport } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { type BulkGrantName, changeRow } from "./change-row.ts";
import { failedRows } from "./queries.ts";

/** The record, and what follows from it. */
export interface Advanced {
  readonly row: BulkGrant;
  readonly step: BulkGrantStep;
  /** How long nothing has to be done, unless the record changes. Absent: until it changes. */
  readonly waitMs?: number;
}

/**
 * Moves the record on by the time: cancels what was not approved in time, starts what is due.
 * Returns what follows. May be repeated. Refusal: BULK_GRANT_NOT_FOUND.
 */
export async function advanceBulkGrant(
  deps: Pick<Deps, "engine">,
  name: BulkGrantName,
): Promise<Advanced> {
  let now = 0;
  const { row } = await changeRow(deps, name, (before, wall) => {
    now = wall;
    return start(expire(before, wall), wall);
  });
  const until = waitsUntil(row);
  const step = nextStep(row, now);
  return { row, step, ...(until !== undefined && { waitMs: Math.max(until - now, 0) }) };
}

/** Until when nothing has to be done. */
function waitsUntil({
  state,
  pause,
  reminded,
  remindTime,
  ...row
}: BulkGrant): Instant | undefined {
  if (state === "AWAITING_APPROVAL") {
    return reminded ? row.expireTime : Math.min(remindTime, row.expireTime);
  }
  return state === "APPROVED" && !pause ? row.revision.executeTime : undefined;
}

type ReportDeps = Pick<Deps, "engine" | "reader" | "reporter" | "bulkSources">;

/** Reminds people once that a bulk grant awaits approval, when it is time. */
export async function remindOfApproval(deps: ReportDeps, name: BulkGrantName): Promise<void> {
  const { row, changed } = await changeRow(deps, name, (row, now) =>
    row.state === "AWAITING_APPROVAL" && !row.reminded && now >= row.remindTime
      ? { ...row, reminded: true as const }
      : row,
  );
  if (changed) await deps.reporter.send(reportOf(deps, row, "REMINDER"));
}

/**
 * Reports the outcome of a bulk grant to people, at most once: after a crash while it was being
 * sent, it counts as failed. Throws the error of a report that was not sent, which is recorded
 * before.
 */
export async function reportOutcome(deps: ReportDeps, name: BulkGrantName): Promise<void> {
  const { row, changed } = await changeRow(deps, name, (row) =>
    row.report === undefined ? { ...row, report: "SENDING" as const } : row,
  );
  if (!changed) {
    await endReport(deps, name, "FAILED");
    return;
  }
  try {
    await deps.reporter.send(reportOf(deps, row, "OUTCOME"));
    await endReport(deps, name, "SENT");
  } catch (error) {
    await endReport(deps, name, "FAILED");
    throw error;
  }
}

async function endReport(
  deps: Pick<Deps, "engine">,
  name: BulkGrantName,
  report: "SENT" | "FAILED",
): Promise<void> {
  await changeRow(deps, name, (row) => (row.report === "SENDING" ? { ...row, report } : row));
}

const reportOf = (
  { bulkSources }: Pick<Deps, "bulkSources">,
  bulkGrant: BulkGrant,
  kind: BulkGrantReport["kind"],
): BulkGrantReport => {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const sourceUrl = revision.source && bulkSources.urlOf(revision.source);
  const workflowId = bulkGrantWorkflowId(programId, bulkGrantId);
  return { kind, bulkGrant, workflowId, ...(sourceUrl && { sourceUrl }) };
};

/** Writes the failed rows back to the source, where it can have them. May be repeated. */
export async function writeFailuresToSource(
  deps: ReportDeps,
  name: BulkGrantName,
  row: BulkGrant,
): Promise<void> {
  const { source, number } = row.revision;
  if (source === undefined) return;
  await deps.bulkSources.writeFailures(
    source,
    { ...name, revision: number },
    failedRows(deps, row),
  );
}
