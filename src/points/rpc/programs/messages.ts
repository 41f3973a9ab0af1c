/** Maps programs between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Program as ProgramMessage,
  ProgramSchema,
} from "../../../gen/meguri/programs/v1/program_pb.ts";
import { fromCaller } from "../../../platform/messages/callers.ts";
import { invalid } from "../../../platform/messages/invalid-request.ts";
import { fromInstant } from "../../../platform/messages/scalars.ts";
import type { Caller } from "../../../platform/words/caller.ts";
import { defaultBulkRules } from "../../rules/bulk-rules.ts";
import {
  finalTimeOf,
  newestLifetime,
  type ProgramNotices,
  type ReservationPause,
} from "../../rules/program.ts";
import type { RuledProgram } from "../../use-cases/programs/ruled-program.ts";
import { fromBulkRules, fromRuleChange, toBulkRules } from "./bulk-rules.ts";

/** The message of a program and its rules. */
export function fromProgram({
  program,
  bulkRules,
  ruleChange,
  etag,
}: RuledProgram): MessageInitShape<typeof ProgramSchema> {
  const { programId, timeZone, lifetimes, createTime, reservationPause: pause, notices } = program;
  return {
    programId,
    timeZone,
    lifetimeMonths: newestLifetime(program).lifetimeMonths,
    lifetimeChanges: lifetimes.map(({ lifetimeMonths, effectiveTime }, i) => ({
      lifetimeMonths,
      effectiveTime: fromInstant(i === 0 ? createTime : effectiveTime),
    })),
    createTime: fromInstant(createTime),
    ...(pause && { reservationPause: fromPause(pause) }),
    ...(notices && { notices }),
    bulkRules: fromBulkRules(bulkRules),
    ...(ruleChange && { bulkRulesChange: fromRuleChange(ruleChange) }),
    etag,
  };
}

const fromPause = (pause: ReservationPause) => ({
  time: fromInstant(pause.time),
  caller: fromCaller(pause.caller),
  reason: pause.reason,
  finalTime: fromInstant(finalTimeOf(pause)),
});

/** The changes of a caller's update. What is named and empty is reset; a lifetime cannot be. */
export function toProgramChanges(masked: Partial<ProgramMessage>, proposer: Caller) {
  const { lifetimeMonths, notices = noNotices, bulkRules } = masked;
  if (lifetimeMonths === 0) throw invalid("program.lifetime_months", "1 to 36");
  return {
    lifetimeMonths,
    ...("notices" in masked && { notices }),
    ...("bulkRules" in masked && {
      bulkRules: {
        rules: bulkRules ? toBulkRules(bulkRules, "program.bulk_rules") : defaultBulkRules,
        proposer,
      },
    }),
  };
}

const noNotices: ProgramNotices = { expiryDays: 0, reservedGrants: false };
