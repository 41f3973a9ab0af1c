/** The etag of a program, by which an update says which state it is meant for. */
import type { Program } from "../../domain/program.ts";
import { etagOf } from "../shared/etags.ts";

/** Returns the etag of a program. It changes with every field that can change. */
export function programEtag(program: Program): string {
  const { lifetimes, reservationPause: pause, notices, bulkRules } = program;
  return etagOf([
    lifetimes.map(({ lifetimeMonths }) => lifetimeMonths),
    pause && [pause.time, pause.caller.service, pause.caller.subject, pause.reason],
    notices && [notices.expiryDays, notices.reservedGrants],
    bulkRules && [
      bulkRules.maxPointsPerRow,
      bulkRules.maxTotalPoints,
      bulkRules.requiredApprovalCount,
      bulkRules.tiers.map(({ maxTotalPoints, requiredApprovalCount }) => [
        maxTotalPoints,
        requiredApprovalCount,
      ]),
    ],
  ]);
}
