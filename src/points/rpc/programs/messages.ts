/** Maps programs between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Program_BalanceLimits,
  type Program as ProgramMessage,
  ProgramSchema,
} from "../../../gen/meguri/programs/v1/program_pb.ts";
import { invalid } from "../../../platform/messages/invalid-request.ts";
import { fromRecord } from "../../../platform/messages/records.ts";
import type { BalanceLimits } from "../../rules/balance-limits.ts";
import { defaultBulkRules } from "../../rules/bulk-rules.ts";
import {
  finalTimeOf,
  leastReservationShards,
  newestLifetime,
  type ProgramNotices,
  reservationShardsOf,
} from "../../rules/program.ts";
import type { RuledProgram } from "../../use-cases/programs/ruled-program.ts";
import { shownBulkRules, shownRuleChange, toBulkRules } from "./rules.ts";

/** The message of a program and its rules. */
export function fromProgram({
  program,
  bulkRules,
  ruleChange,
  etag,
}: RuledProgram): MessageInitShape<typeof ProgramSchema> {
  const { lifetimes, createTime, reservationPause: pause } = program;
  return fromRecord(ProgramSchema, {
    ...program,
    lifetimeMonths: newestLifetime(program).lifetimeMonths,
    lifetimeChanges: lifetimes.map((change, i) =>
      i === 0 ? { ...change, effectiveTime: createTime } : change,
    ),
    reservationPause: pause && { ...pause, finalTime: finalTimeOf(pause) },
    reservationShardCount: reservationShardsOf(program),
    bulkRules: shownBulkRules(bulkRules),
    rulesChange: ruleChange && shownRuleChange(ruleChange),
    etag,
  });
}

/** The changes of a caller's update. What is named and empty is reset; a lifetime cannot be. */
export function toProgramChanges(masked: Partial<ProgramMessage>) {
  const { lifetimeMonths, notices = noNotices, bulkRules, reservationShardCount } = masked;
  const { balanceLimits } = masked;
  if (lifetimeMonths === 0) throw invalid("program.lifetime_months", "1 to 36");
  return {
    reservationShardCount:
      reservationShardCount === 0 ? leastReservationShards : reservationShardCount,
    balanceLimits: "balanceLimits" in masked ? toBalanceLimits(balanceLimits) : undefined,
    rules: {
      ...(lifetimeMonths !== undefined && { lifetimeMonths }),
      ...("notices" in masked && { notices }),
      ...("bulkRules" in masked && {
        bulkRules: bulkRules ? toBulkRules(bulkRules, "program.bulk_rules") : defaultBulkRules,
      }),
    },
  };
}

const toBalanceLimits = (limits: Program_BalanceLimits | undefined): BalanceLimits => ({
  below: (limits?.below ?? []).map(Number),
  above: (limits?.above ?? []).map(Number),
});

const noNotices: ProgramNotices = { expiryDays: 0, reservedGrants: false };
