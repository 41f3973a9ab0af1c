/** The use cases between the steps of a bulk grant's workflow: state changes and reports. */

import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { bulkGrantWorkflowId } from "../contract/bulk-grants.ts";
import type { BulkGrantReport } from "../ports/bulk-grants.ts";
import type { Deps, WorkerDeps } from "../ports/deps.ts";
import {
  type BulkGrant,
  type BulkGrantName,
  type BulkGrantStep,
  dueAnnouncement,
  nextStep,
} from "../rules/bulk-grant.ts";
import { expire, start } from "../rules/bulk-grant-changes.ts";
import { isRunSource } from "../rules/run-source.ts";
import { changeBulkGrant, readBulkGrant } from "./bulk-grant-record.ts";
import { failedRows } from "./queries.ts";
import { readSummary } from "./summarize.ts";
import { failedRowsSheet } from "./write-sheet.ts";

/** The record, and what follows from it. */
export interface Advanced {
  readonly bulkGrant: BulkGrant;
  readonly step: BulkGrantStep;
  /** How long nothing has to be done, unless the record changes. Absent: until it changes. */
  readonly waitMs?: Milliseconds | undefined;
}

/**
 * Moves the record on by the time: cancels what was not approved in time, starts what is due.
 * Returns what follows. May be repeated. Refusal: BULK_GRANT_NOT_FOUND.
 */
export async function advanceBulkGrant(
  deps: Pick<Deps, "engine">,
  name: BulkGrantName,
): Promise<Advanced> {
  const { record: bulkGrant, now } = await changeBulkGrant(deps, name, (before, wall) =>
    start(expire(before, wall), wall),
  );
  const until = waitsUntil(bulkGrant);
  const step = nextStep(bulkGrant, now.wall);
  return {
    bulkGrant,
    step,
    waitMs: until === undefined ? undefined : Math.max(until - now.wall, 0),
  };
}

/** Until when nothing has to be done. */
function waitsUntil(bulkGrant: BulkGrant): Instant | undefined {
  const { state, pause, reminded, remindTime, expireTime, revision } = bulkGrant;
  if (state === "AWAITING_APPROVAL") {
    return reminded ? expireTime : Math.min(remindTime, expireTime);
  }
  return state === "APPROVED" && !pause ? revision.executeTime : undefined;
}

type ReportDeps = Pick<Deps, "engine" | "reporter">;

/**
 * Sends the due announcement of the wait for approvals, at most once: after a crash while it was
 * being sent, it is lost. Throws the error of a message that was not sent.
 */
export async function announce(
  deps: ReportDeps & Pick<Deps, "reader">,
  name: BulkGrantName,
): Promise<void> {
  const { revision } = await readBulkGrant(deps, name);
  const summary = await readSummary(deps, name, revision.number);
  const { record: bulkGrant, isChanged } = await changeBulkGrant(deps, name, (before) => {
    const isSame = before.revision.number === revision.number;
    const announced = isSame ? dueAnnouncement(before) : undefined;
    return announced ? { ...before, announced } : before;
  });
  const { announced } = bulkGrant;
  if (!isChanged || announced === undefined) return;
  const report = reportOf(bulkGrant, announced);
  await deps.reporter.send(announced === "WAITING" && summary ? { ...report, summary } : report);
}

/** Reminds people once that a bulk grant awaits approval, when it is time. */
export async function remindOfApproval(deps: ReportDeps, name: BulkGrantName): Promise<void> {
  const { record: bulkGrant, isChanged } = await changeBulkGrant(deps, name, (before, now) =>
    before.state === "AWAITING_APPROVAL" && !before.reminded && now >= before.remindTime
      ? { ...before, reminded: true as const }
      : before,
  );
  if (isChanged) await deps.reporter.send(reportOf(bulkGrant, "REMINDER"));
}

/**
 * Reports the outcome of a bulk grant to people, at most once: after a crash while it was being
 * sent, it counts as failed. Throws the error of a report that was not sent, which is recorded
 * before. `onOutcome` is called at most once for each outcome.
 */
export async function reportOutcome(
  deps: ReportDeps,
  name: BulkGrantName,
  onOutcome: (bulkGrant: BulkGrant) => void = () => {},
): Promise<void> {
  // One that is retried meanwhile has no outcome until it has run again.
  const { record: bulkGrant, isChanged } = await changeBulkGrant(deps, name, (before, now) =>
    before.report === undefined && nextStep(before, now) === "REPORT"
      ? { ...before, report: "SENDING" as const }
      : before,
  );
  if (!isChanged) {
    await endReport(deps, name, "FAILED");
    return;
  }
  onOutcome(bulkGrant);
  try {
    await deps.reporter.send(reportOf(bulkGrant, "OUTCOME"));
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
  await changeBulkGrant(deps, name, (record) =>
    record.report === "SENDING" ? { ...record, report } : record,
  );
}

const reportOf = (bulkGrant: BulkGrant, kind: BulkGrantReport["kind"]): BulkGrantReport => {
  const { programId, bulkGrantId } = bulkGrant;
  return { kind, bulkGrant, workflowId: bulkGrantWorkflowId(programId, bulkGrantId) };
};

/**
 * Writes the failed rows back to the source, and keeps where they are; nothing for rows of a run's
 * input. May be repeated.
 */
export async function writeFailuresToSource(
  deps: Pick<WorkerDeps, "engine" | "reader" | "bulkSources">,
  name: BulkGrantName,
): Promise<void> {
  const bulkGrant = await readBulkGrant(deps, name);
  const { run, revision } = bulkGrant;
  const { number, source, sourceUrl } = revision;
  if (source === undefined || isRunSource(source)) return;
  const summary = await readSummary(deps, name, number);
  const failedRowsAt = await deps.bulkSources.writeErrors(
    { source, url: sourceUrl },
    failedRowsSheet(failedRows(deps, bulkGrant), bulkGrant, summary?.warnings ?? []),
  );
  await changeBulkGrant(deps, name, (record) =>
    record.revision.number === number && record.run === run ? { ...record, failedRowsAt } : record,
  );
}
