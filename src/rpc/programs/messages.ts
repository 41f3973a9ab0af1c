/** Maps programs and their rules for bulk grants between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { programEtag } from "../../app/programs/etag.ts";
import {
  type BulkRules,
  defaultBulkRules,
  newestLifetime,
  type Program,
  type ProgramNotices,
  type ReservationPause,
} from "../../domain/program.ts";
import type {
  Program_BulkRules,
  Program as ProgramMessage,
  ProgramSchema,
} from "../../gen/meguri/programs/v1/program_pb.ts";
import { invalid } from "../server/errors.ts";
import { fromCaller } from "../shared/callers.ts";
import { fromInstant } from "../shared/scalars.ts";

/** The message of a program. */
export function fromProgram(program: Program): MessageInitShape<typeof ProgramSchema> {
  const { programId, timeZone, lifetimes, createTime, reservationPause: pause, notices } = program;
  const { bulkRules = defaultBulkRules } = program;
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
    bulkRules: {
      maxPointsPerRow: BigInt(bulkRules.maxPointsPerRow),
      maxTotalPoints: BigInt(bulkRules.maxTotalPoints),
      tiers: bulkRules.tiers.map(({ maxTotalPoints, requiredApprovalCount }) => ({
        maxTotalPoints: BigInt(maxTotalPoints),
        requiredApprovalCount,
      })),
      requiredApprovalCount: bulkRules.requiredApprovalCount,
    },
    etag: programEtag(program),
  };
}

const fromPause = ({ time, caller, reason }: ReservationPause) => ({
  time: fromInstant(time),
  caller: fromCaller(caller),
  reason,
});

/** The changes of an update. What is named and empty is reset; a lifetime cannot be empty. */
export function toProgramChanges(masked: Partial<ProgramMessage>) {
  const { lifetimeMonths, notices = noNotices, bulkRules } = masked;
  if (lifetimeMonths === 0) throw invalid("program.lifetime_months", "1 to 36");
  return {
    lifetimeMonths,
    ...("notices" in masked && { notices }),
    ...("bulkRules" in masked && {
      bulkRules: bulkRules ? toBulkRules(bulkRules) : defaultBulkRules,
    }),
  };
}

const noNotices: ProgramNotices = { expiryDays: 0, reservedGrants: false };

/** The rules of a request that protovalidate has accepted: whatever is unset gets its default. */
function toBulkRules(message: Program_BulkRules): BulkRules {
  const { maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount } = message;
  return {
    maxPointsPerRow: Number(maxPointsPerRow) || defaultBulkRules.maxPointsPerRow,
    maxTotalPoints: Number(maxTotalPoints) || defaultBulkRules.maxTotalPoints,
    tiers: tiers.map(
      ({ maxTotalPoints, requiredApprovalCount = defaultBulkRules.requiredApprovalCount }) => ({
        maxTotalPoints: Number(maxTotalPoints),
        requiredApprovalCount,
      }),
    ),
    requiredApprovalCount: requiredApprovalCount ?? defaultBulkRules.requiredApprovalCount,
  };
}
