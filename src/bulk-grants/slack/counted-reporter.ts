/** Counts the reports that people may not have got. */

import { createCounter, type Tallies } from "../../platform/ports/tallies.ts";
import type { BulkGrantReport, Reporter } from "../ports/bulk-grants.ts";

type ReportKind = BulkGrantReport["kind"] | "RULE_CHANGE" | "PICK_UP";

const zeros: Readonly<Record<ReportKind, 0>> = {
  WAITING: 0,
  RAISED: 0,
  REMINDER: 0,
  APPROVED: 0,
  ENDED: 0,
  OUTCOME: 0,
  RULE_CHANGE: 0,
  PICK_UP: 0,
};

/** A reporter, and how many reports it could not send: each kind is there from the start. */
export interface CountedReporter extends Reporter {
  readonly failed: Tallies["failedReports"];
}

/** Wraps a reporter. The errors pass. */
export function countFailedReports(reporter: Reporter): CountedReporter {
  const failed = createCounter(
    "meguri_reports_failed_total",
    "Reports to people that were not sent, or whose arrival is uncertain.",
    ["kind"],
  );
  for (const [kind, count] of Object.entries(zeros)) failed.inc({ kind }, count);
  const counted = (kind: ReportKind, sending: Promise<void>): Promise<void> =>
    sending.catch((error) => {
      failed.inc({ kind });
      throw error;
    });
  return {
    failed,
    send: (report) => counted(report.kind, reporter.send(report)),
    sendRuleChange: (report) => counted("RULE_CHANGE", reporter.sendRuleChange(report)),
    sendPickUp: (report) => counted("PICK_UP", reporter.sendPickUp(report)),
  };
}
