import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Deps } from "../../app/ports/deps.ts";
import {
  createProgram,
  getProgram,
  listPrograms,
  updateProgram,
} from "../../app/programs/commands.ts";
import { defaultLifetime, defaultZone, lifetimeAt } from "../../app/vocabulary.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { ProgramSchema } from "../../gen/meguri/programs/v1/program_pb.ts";
import {
  ListProgramsRequestSchema,
  type ProgramService,
} from "../../gen/meguri/programs/v1/program_service_pb.ts";
import { deadlineOf } from "../server/context.ts";
import { askedPage } from "../server/page-tokens.ts";
import { fromInstant } from "../server/scalars.ts";

export function programService(deps: Deps): ServiceImpl<typeof ProgramService> {
  const now = async () => (await deps.clock.now()).calendar;
  return {
    async createProgram({ programId: id, timeZone, lifetimeMonths }, context) {
      const { program, replayed } = await createProgram(deps, {
        id,
        zone: timeZone || defaultZone,
        lifetime: lifetimeMonths || defaultLifetime,
        deadline: deadlineOf(context),
      });
      return { program: fromProgram(program, await now()), replayed };
    },

    async getProgram({ programId }) {
      return { program: fromProgram(await getProgram(deps, programId), await now()) };
    },

    async listPrograms(request) {
      const { page, next } = askedPage(ListProgramsRequestSchema, request);
      const found = await listPrograms(deps, page);
      const time = await now();
      return {
        programs: found.items.map((program) => fromProgram(program, time)),
        nextPageToken: next(found),
      };
    },

    async updateProgram({ programId: id, lifetimeMonths: lifetime }, context) {
      const deadline = deadlineOf(context);
      const program = await updateProgram(deps, { id, lifetime, deadline });
      return { program: fromProgram(program, await now()) };
    },
  };
}

function fromProgram(program: Program, now: Instant): MessageInitShape<typeof ProgramSchema> {
  const { id, zone, lifetimes, createTime } = program;
  return {
    programId: id,
    timeZone: zone,
    lifetimeMonths: lifetimeAt(program, now),
    lifetimeChanges: lifetimes.map(({ months, from }, i) => ({
      lifetimeMonths: months,
      effectiveTime: fromInstant(i === 0 ? createTime : from),
    })),
    createTime: fromInstant(createTime),
  };
}
