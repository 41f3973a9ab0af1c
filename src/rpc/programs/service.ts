/** The handlers of the ProgramService. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { Deps } from "../../app/ports/deps.ts";
import { createProgram, updateProgram } from "../../app/programs/commands.ts";
import { getProgram, listPrograms } from "../../app/programs/queries.ts";
import { defaultLifetimeMonths, defaultTimeZone } from "../../domain/program.ts";
import {
  ListProgramsRequestSchema,
  type ProgramService,
} from "../../gen/meguri/programs/v1/program_service_pb.ts";
import { mayUseProgram } from "../server/authorize.ts";
import { deadlineOf, identityOf } from "../server/context.ts";
import { requestedPage } from "../server/page-tokens.ts";
import { fromProgram, toBulkRules } from "./messages.ts";

export function programService(deps: Deps): ServiceImpl<typeof ProgramService> {
  const now = async () => (await deps.clock.now()).calendar;
  return {
    async createProgram({ programId, timeZone, lifetimeMonths }, context) {
      const { program, replayed } = await createProgram(deps, {
        programId,
        timeZone: timeZone || defaultTimeZone,
        lifetimeMonths: lifetimeMonths || defaultLifetimeMonths,
        deadline: deadlineOf(context),
      });
      return { program: fromProgram(program, await now()), replayed };
    },

    async getProgram({ programId }) {
      return { program: fromProgram(await getProgram(deps, programId), await now()) };
    },

    /** A page may be short: it leaves out the programs that the caller may not use. */
    async listPrograms(request, { values }) {
      const { page, next } = requestedPage(ListProgramsRequestSchema, request);
      const found = await listPrograms(deps, page);
      const time = await now();
      return {
        programs: found.items
          .filter(({ programId }) => mayUseProgram(identityOf(values), programId))
          .map((program) => fromProgram(program, time)),
        nextPageToken: next(found),
      };
    },

    async updateProgram({ programId, lifetimeMonths, notices, bulkRules }, context) {
      const program = await updateProgram(deps, {
        programId,
        lifetimeMonths: lifetimeMonths || undefined,
        notices,
        bulkRules: bulkRules && toBulkRules(bulkRules),
        deadline: deadlineOf(context),
      });
      return { program: fromProgram(program, await now()) };
    },
  };
}
