/** Maps programs and their rules for bulk grants between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Instant } from "../../domain/month.ts";
import {
  type BulkRules,
  defaultBulkRules,
  lifetimeAt,
  type Program,
  type ReservationPause,
} from "../../domain/program.ts";
import type { Program_BulkRules, ProgramSchema } from "../../gen/meguri/programs/v1/program_pb.ts";
import { fromInstant } from "../server/scalars.ts";
import { fromCaller } from "../shared/callers.ts";

/** The message of a program, with the lifetime in force at `now`. */
export function fromProgram(
  program: Program,
  now: Instant,
): MessageInitShape<typeof ProgramSchema> {
  const { programId, timeZone, lifetimes, createTime, reservationPause: pause, notices } = program;
  const { bulkRules = defaultBulkRules } = program;
  return {
    programId,
    timeZone,
    lifetimeMonths: lifetimeAt(program, now),
    lifetimeChanges: lifetimes.map(({ lifetimeMonths, effectiveTime }, i) => ({
      lifetimeMonths,
      effectiveTime: fromInstant(i === 0 ? createTime : effectiveTime),
    })),
    createTime: fromInstant(createTime),
    ...(pause && { reservationPause: fromPause(pause) }),
    ...(notices && { notices }),
    bulkRules: {
      maxPointsPerRow: BigInt(bulkRules.maxPointsPerRow),
      maxTotalPoints: BigInt(bulkRules.maxTotalPoints),
      tiers: bulkRules.tiers.map(({ upToPoints, approvals }) => ({
        upToPoints: BigInt(upToPoints),
        approvals,
      })),
      approvalsAbove: bulkRules.approvalsAbove,
    },
  };
}

const fromPause = ({ time, caller, reason }: ReservationPause) => ({
  time: fromInstant(time),
  caller: fromCaller(caller),
  reason,
});

/** The rules of a request that protovalidate has accepted: whatever is unset gets its default. */
export function toBulkRules(message: Program_BulkRules): BulkRules {
  const { maxPointsPerRow, maxTotalPoints, tiers, approvalsAbove } = message;
  return {
    maxPointsPerRow: Number(maxPointsPerRow) || defaultBulkRules.maxPointsPerRow,
    maxTotalPoints: Number(maxTotalPoints) || defaultBulkRules.maxTotalPoints,
    tiers: tiers.map(({ upToPoints, approvals = defaultBulkRules.approvalsAbove }) => ({
      upToPoints: Number(upToPoints),
      approvals,
    })),
    approvalsAbove: approvalsAbove ?? defaultBulkRules.approvalsAbove,
  };
}
