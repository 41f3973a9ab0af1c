/** Calls that store jobs. */
import { startJob, storeSum } from "../../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport } from "../../../src/points/use-cases/jobs/liability.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { alice, programId } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeJobs({ deps, step }: Recorder): Promise<void> {
  const call = { programId, jobId: "2026-11", caller: alice };
  await step("ask for a liability report", () =>
    startJob(deps, liabilityReport, { ...call, request: { since: Date.UTC(2026, 0, 1) } }),
  );
  await step("keep its result", () =>
    storeSum(
      deps,
      { ...call, kind: liabilityReport.kind.name },
      {
        ...{ accounts: 2, members: 1, months: { 24312: "12", 24313: "30000000000000000" } },
        totals: { issuedPoints: "50", usedPoints: "0", expiredPoints: "8", refundedPoints: "0" },
        held: "4",
        ...{ failed: 1, failures: [{ userId: "dan", reason: "LEDGER_DAMAGED" }] },
      },
    ),
  );
  await step("ask for a verification", () =>
    startJob(deps, verification, { ...call, request: { repair: true } }),
  );
}
