/** The handlers of the ReservationService that pause and resume a program. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { Deps } from "../../app/ports/deps.ts";
import {
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../app/reservations/pause.ts";
import type { Program } from "../../domain/program.ts";
import type { ReservationService } from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { fromProgram } from "../programs/messages.ts";
import { callerOf, deadlineOf } from "../server/context.ts";
import { toProgramId } from "../server/scalars.ts";

type ProgramPauses = "pauseProgramReservations" | "resumeProgramReservations";

export function programPauses(
  deps: Deps,
): Pick<ServiceImpl<typeof ReservationService>, ProgramPauses> {
  const toResponse = async (program: Program) => {
    const { calendar } = await deps.clock.now();
    return { program: fromProgram(program, calendar) };
  };
  return {
    async pauseProgramReservations(request, context) {
      const program = await pauseProgramReservations(deps, {
        programId: toProgramId(request.programId),
        caller: callerOf(context),
        reason: request.reason,
        deadline: deadlineOf(context),
      });
      return toResponse(program);
    },

    async resumeProgramReservations(request, context) {
      const programId = toProgramId(request.programId);
      const deadline = deadlineOf(context);
      return toResponse(await resumeProgramReservations(deps, { programId, deadline }));
    },
  };
}
