/** Calls that store liability reports. */
import {
  createLiabilityReport,
  keepLiability,
} from "../../../src/points/use-cases/liability-reports.ts";
import { alice, programId } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeLiabilityReports({ deps, step }: Recorder): Promise<void> {
  const report = { programId, reportId: "2026-11" };
  await step("ask for a liability report", () =>
    createLiabilityReport(deps, { ...report, since: Date.UTC(2026, 0, 1), caller: alice }),
  );
  await step("keep its result", () =>
    keepLiability(deps, report, {
      ...{ accounts: 2, members: 1, months: { 24312: "12", 24313: "30000000000000000" } },
      totals: { issuedPoints: "50", usedPoints: "0", expiredPoints: "8", refundedPoints: "0" },
      held: "4",
      ...{ failed: 1, failures: [{ userId: "bad", reason: "LEDGER_DAMAGED" }] },
    }),
  );
}
