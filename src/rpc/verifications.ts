import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Deps, Verification } from "../app/ports.ts";
import { getProgramVerification, verifyAccount, verifyProgram } from "../app/verify-points.ts";
import type { PointsService } from "../gen/meguri/points/v1/points_service_pb.ts";
import {
  type ProgramVerificationSchema,
  ProgramVerification_State as State,
} from "../gen/meguri/points/v1/program_verification_pb.ts";
import { deadlineOf } from "./context.ts";
import { toAccount } from "./points-reads.ts";
import { fromInstant, toProgram } from "./scalars.ts";

type Verifications = "verifyAccount" | "verifyProgram" | "getProgramVerification";

/** The calls that compare accounts with their ledgers. */
export function verifications(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Verifications> {
  return {
    async verifyAccount(request, context) {
      const deadline = deadlineOf(context);
      const found = await verifyAccount(deps, toAccount(request), request.repair, deadline);
      return {
        differences: found.differences.map((difference) => ({ ...difference })),
        entryCount: BigInt(found.entries),
        repaired: found.repaired,
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
    reports: verification.reports.map(({ user, differences }) => ({
      userId: user,
      differences: differences.map((difference) => ({ ...difference })),
    })),
    workflowId: verification.workflowId,
    startTime: fromInstant(verification.startTime),
  };
}
