/** The handlers of the ProgramService. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { Deps } from "../../app/ports/deps.ts";
import { createProgram, updateProgram } from "../../app/programs/commands.ts";
import { getProgram, listPrograms } from "../../app/programs/queries.ts";
import { defaultLifetimeMonths, defaultTimeZone } from "../../domain/program.ts";
import {
  type Program as ProgramMessage,
  ProgramSchema,
} from "../../gen/meguri/programs/v1/program_pb.ts";
import {
  ListProgramsRequestSchema,
  type ProgramService,
} from "../../gen/meguri/programs/v1/program_service_pb.ts";
import { mayUseProgram } from "../server/authorize.ts";
import { deadlineOf, identityOf } from "../server/context.ts";
import { requestedPage } from "../shared/page-tokens.ts";
import { maskedFields } from "../shared/update-masks.ts";
import { fromProgram, toProgramChanges } from "./messages.ts";

export function programService(deps: Deps): ServiceImpl<typeof ProgramService> {
  return {
    async createProgram({ programId, timeZone, lifetimeMonths }, context) {
      const { program, replayed } = await createProgram(deps, {
        programId,
        timeZone: timeZone || defaultTimeZone,
        lifetimeMonths: lifetimeMonths || defaultLifetimeMonths,
        deadline: deadlineOf(context),
      });
      return { program: fromProgram(program), replayed };
    },

    async getProgram({ programId }) {
      return { program: fromProgram(await getProgram(deps, programId)) };
    },

    /** A page may be short: it leaves out the programs that the caller may not use. */
    async listPrograms(request, { values }) {
      const { page, next } = requestedPage(ListProgramsRequestSchema, request);
      const found = await listPrograms(deps, page);
      return {
        programs: found.items
          .filter(({ programId }) => mayUseProgram(identityOf(values), programId))
          .map((program) => fromProgram(program)),
        nextPageToken: next(found),
      };
    },

    async updateProgram(request, context) {
      const program = request.program as ProgramMessage;
      const { programId, etag } = program;
      const masked = maskedFields(ProgramSchema, program, request.updateMask, updatable);
      const changes = toProgramChanges(masked);
      const input = { programId, ...changes, etag, deadline: deadlineOf(context) };
      return { program: fromProgram(await updateProgram(deps, input)) };
    },
  };
}

/** The fields of a program that an update can change. */
const updatable = ["lifetime_months", "notices", "bulk_rules"];
