/** The calls that compare accounts with their ledgers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import { getProgramVerification, verifyAccount, verifyProgram } from "../../app/points/verify.ts";
import type { Deps, Verification } from "../../app/ports/deps.ts";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import {
  type ProgramVerificationSchema,
  ProgramVerification_State as State,
} from "../../gen/meguri/points/v1/program_verification_pb.ts";
import { deadlineOf } from "../server/context.ts";
import { fromInstant, toProgram } from "../server/scalars.ts";
import { toAccount } from "./queries.ts";

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
      const { differences, unreported, entries, repaired, restored } = found;
      if (repaired || restored.length > 0) {
        log.warn({ ...account, repaired, restored, differences }, "an account was repaired");
      }
      return {
        differences: differences.map((difference) => ({ ...difference })),
        entryCount: BigInt(entries),
        repaired,
        unreportedDifferenceCount: BigInt(unreported),
        restoredEntryNumbers: restored.map(BigInt),
      };
    },

    async verifyProgram({ programId }) {
      const program = toProgram(programId);
      return { verification: fromVerification(program, await verifyProgram(deps, program)) };
    },

    async getProgramVerification({ programId }) {
      const program = toProgram(programId);
      const verification = await getProgramVerification(deps, program);
      return { verification: fromVerification(program, verification) };
    },
  };
}

const states: Readonly<Record<Verification["state"], State>> = {
  RUNNING: State.RUNNING,
  DONE: State.DONE,
  FAILED: State.FAILED,
};

function fromVerification(
  program: string,
  verification: Verification,
): MessageInitShape<typeof ProgramVerificationSchema> {
  return {
    programId: program,
    state: states[verification.state],
    accountCount: BigInt(verification.accounts),
    entryCount: BigInt(verification.entries),
    wrongAccountCount: BigInt(verification.wrong),
    reports: verification.reports.map(({ user, differences, unreported = 0 }) => ({
      userId: user,
      differences: differences.map((difference) => ({ ...difference })),
      unreportedDifferenceCount: BigInt(unreported),
    })),
    failedAccountCount: BigInt(verification.failed ?? 0),
    failures: (verification.failures ?? []).map((failure) => ({ ...failure })),
    workflowId: verification.workflowId,
    startTime: fromInstant(verification.startTime),
  };
}
