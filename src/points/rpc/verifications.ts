/** The handlers of the PointsService that compare accounts with their ledgers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import {
  type ProgramVerificationSchema,
  ProgramVerification_State as State,
} from "../../gen/meguri/points/v1/program_verification_pb.ts";
import { deadlineOf, requestIdOf } from "../../platform/edge/context.ts";
import { fromInstant } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps, Verification } from "../ports/deps.ts";
import { getProgramVerification, verifyAccount, verifyProgram } from "../use-cases/verify.ts";
import { toAccount } from "./accounts.ts";

type Verifications = "verifyAccount" | "verifyProgram" | "getProgramVerification";

export function verifications(
  deps: Deps,
  log: Logger,
): Pick<ServiceImpl<typeof PointsService>, Verifications> {
  return {
    async verifyAccount(request, context) {
      const deadline = deadlineOf(context);
      const account = toAccount(request);
      const found = await verifyAccount(deps, account, request.repair, deadline);
      const { differences, unreportedDifferenceCount, entryCount, repaired, restoredEntryNumbers } =
        found;
      if (repaired || restoredEntryNumbers.length > 0) {
        const { programId } = account;
        const requestId = requestIdOf(context);
        log.warn(
          { programId, requestId, repaired, restoredEntryNumbers, differences },
          "an account was repaired",
        );
      }
      return {
        differences: differences.map((difference) => ({ ...difference })),
        entryCount: BigInt(entryCount),
        repaired,
        unreportedDifferenceCount: BigInt(unreportedDifferenceCount),
        restoredEntryNumbers: restoredEntryNumbers.map(BigInt),
      };
    },

    async verifyProgram(request) {
      const programId = toProgramId(request.programId);
      const verification = await verifyProgram(deps, programId, request.repair);
      return { verification: fromVerification(programId, verification) };
    },

    async getProgramVerification(request) {
      const programId = toProgramId(request.programId);
      const verification = await getProgramVerification(deps, programId);
      return { verification: fromVerification(programId, verification) };
    },
  };
}

const states: Readonly<Record<Verification["state"], State>> = {
  RUNNING: State.RUNNING,
  DONE: State.DONE,
  FAILED: State.FAILED,
};

function fromVerification(
  programId: string,
  verification: Verification,
): MessageInitShape<typeof ProgramVerificationSchema> {
  return {
    programId,
    state: states[verification.state],
    accountCount: BigInt(verification.accounts),
    entryCount: BigInt(verification.entries),
    wrongAccountCount: BigInt(verification.wrong),
    repair: verification.repair,
    repairedAccountCount: BigInt(verification.repaired),
    reports: verification.reports.map(({ userId, differences, unreported }) => ({
      userId,
      differences: differences.map((difference) => ({ ...difference })),
      unreportedDifferenceCount: BigInt(unreported),
    })),
    failedAccountCount: BigInt(verification.failed),
    failures: verification.failures.map((failure) => ({ ...failure })),
    workflowId: verification.workflowId,
    startTime: fromInstant(verification.startTime),
  };
}
