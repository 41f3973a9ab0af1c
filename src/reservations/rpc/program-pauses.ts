/** The handlers of the ReservationService that pause and resume a program. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ReservationService } from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import { fromProgram } from "../../points/rpc/programs/messages.ts";
import { withRules } from "../../points/use-cases/programs/queries.ts";
import type { Deps } from "../ports/deps.ts";
import { pauseProgramReservations, resumeProgramReservations } from "../use-cases/pause.ts";

type ProgramPauses = "pauseProgramReservations" | "resumeProgramReservations";

export function programPauses(
  deps: Deps,
): Pick<ServiceImpl<typeof ReservationService>, ProgramPauses> {
  return {
    async pauseProgramReservations(request, context) {
      const program = await pauseProgramReservations(deps, toInput(request, context));
      return { program: fromProgram(await withRules(deps, program)) };
    },

    async resumeProgramReservations(request, context) {
      const input = toInput(request, context);
      const program = await resumeProgramReservations(deps, input);
      return { program: fromProgram(await withRules(deps, program)) };
    },
  };
}

const toInput = (
  request: { readonly programId: string; readonly reason: string },
  context: HandlerContext,
) => ({
  programId: toProgramId(request.programId),
  ...callOf(context),
  reason: request.reason,
});
