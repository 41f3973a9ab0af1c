/** The etag of a program, and the digest that an approval of its rules names. */

import { etagOf, sha256Of } from "../../../platform/work/etags.ts";
import type { Program } from "../../rules/program.ts";
import { rulesAsList } from "../../rules/program-rules.ts";
import type { RuleChange } from "../../rules/rule-changes.ts";

/** Returns the etag of a program. It changes with every field that somebody can change. */
export function programEtag(program: Program, change: RuleChange | undefined): string {
  const { lifetimes, reservationPause: pause, notices, reservationShardCount } = program;
  const { balanceLimits: limits } = program;
  return etagOf([
    lifetimes.map(({ lifetimeMonths }) => lifetimeMonths),
    pause && [pause.time, pause.caller.service, pause.caller.subject, pause.reason],
    notices && [notices.expiryDays, notices.reservedGrants],
    change && [
      change.number,
      change.approvals.map(({ caller }) => [caller.service, caller.subject]),
      change.end?.state,
      rulesAsList(change.to),
    ],
    reservationShardCount,
    // Left out without limits, so that the etag of a program without them stays the same.
    ...(limits ? [[limits.below, limits.above]] : []),
  ]);
}

/**
 * Returns the digest of a change of the rules, which an approval names: SHA-256, base64url without
 * padding, over the program, the number of the change, and the rules before and after it.
 */
export const ruleChangeDigest = (programId: string, { number, from, to }: RuleChange): string =>
  sha256Of([programId, number, rulesAsList(from), rulesAsList(to)]);
