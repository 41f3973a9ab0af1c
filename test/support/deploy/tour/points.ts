/** Calls every RPC of programs and points. */

import { ExpiredPointsPolicy } from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { formatMonth, monthAt } from "../../../../src/platform/words/month.ts";
import type { TourClients } from "./called.ts";

/** Leaves the program `default` with notices of reserved grants. */
export async function tourPrograms(
  { acts, programs }: TourClients,
  approver: TourClients,
): Promise<void> {
  const program = { programId: "default" };
  // Rows of the input of a run are granted there without approvals.
  const tiers = [{ maxTotalPoints: 50n, requiredApprovalCount: 0 }];
  await programs.createProgram({
    ...{ programId: "cafe", timeZone: "UTC", lifetimeMonths: 12 },
    bulkRules: { tiers, requiredApprovalCount: 1, sources: ["temporal"] },
  });
  await programs.getProgram(program);
  await programs.listPrograms({});
  const propose = async (maxPointsPerRow: bigint) => {
    await programs.updateProgram({
      program: {
        ...{ ...program, notices: { expiryDays: 7, reservedGrants: true } },
        bulkRules: { maxPointsPerRow, requiredApprovalCount: 1, sources: ["jobs"] },
      },
      updateMask: { paths: ["notices", "bulk_rules"] },
    });
    const { rulesChanges } = await programs.listRulesChanges(program);
    return rulesChanges[0]?.digest ?? "";
  };
  await approver.programs.approveRulesChange({
    ...program,
    digest: await propose(1_000n),
    reason: "r",
  });
  await approver.programs.rejectRulesChange({
    ...program,
    digest: await propose(2_000n),
    reason: "r",
  });
  const listed = { ...program, createTimeFrom: { seconds: 1n } };
  await acts.listActs(listed);
  await acts.listActs({ ...listed, subject: "ada" });
  await acts.listActs({ ...listed, userId: "ann" });
}

export async function tourPoints({ points }: TourClients): Promise<void> {
  const account = { programId: "default", userId: "ann" };
  const event = (eventId: string) => ({ ...account, eventId, reason: "r" });
  for (const id of ["g1", "g2", "g3"]) await points.grantPoints({ ...event(id), points: 9n });
  await Promise.all(["g4", "g5"].map((id) => points.grantPoints({ ...event(id), points: 9n })));
  await points.usePoints({ ...event("u"), points: 5n });
  const expiredPointsPolicy = ExpiredPointsPolicy.CURRENT_MONTH;
  const refund = { useEventId: "u", points: 2n, expiredPointsPolicy };
  await points.refundPoints({ ...event("f"), ...refund });
  await points.revokePoints({ ...event("v"), grantEvent: { eventId: "g1" } });
  const expireMonth = formatMonth(monthAt("Asia/Tokyo", Date.now()));
  await points.extendExpiry({ ...event("x"), grantEvent: { eventId: "g1" }, expireMonth });
  // No other part of the tour, which runs meanwhile, uses this account.
  const frozen = { programId: "default", userId: "joe", reason: "r" };
  await points.freezeAccount({ ...frozen, eventId: "z" });
  await points.unfreezeAccount({ ...frozen, eventId: "y" });
  await points.getBalance(account);
  const inAYear = BigInt(Math.floor(Date.now() / 1_000) + 30_000_000);
  await points.getForecast({ ...account, time: { seconds: inAYear } });
  await points.listLedgerEntries(account);
  await points.getLedgerEntry({ ...account, key: { case: "event", value: { eventId: "g2" } } });
  await points.verifyAccount(account);
  const report = { programId: "default", jobId: "r" };
  await points.verifyProgram(report);
  await points.getProgramVerification(report);
  await points.listProgramVerifications({ programId: "default" });
  await points.createLiabilityReport(report);
  await points.getLiabilityReport(report);
  await points.listLiabilityReports({ programId: "default" });
  const ledger = { programId: "default", jobId: "tour" };
  const createTimeBefore = { seconds: BigInt(Math.floor(Date.now() / 1_000) - 1_200) };
  await points.exportLedger({ ...ledger, destination: "audit", createTimeBefore });
  await points.getLedgerExport(ledger);
  await points.listLedgerExports({ programId: "default" });
}
