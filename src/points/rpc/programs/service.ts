/** The handlers of the ProgramService. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type Program as ProgramMessage,
  ProgramSchema,
} from "../../../gen/meguri/programs/v1/program_pb.ts";
import {
  type ApproveRulesChangeRequest,
  ListProgramsRequestSchema,
  ListRulesChangesRequestSchema,
  type ProgramService,
  type RejectRulesChangeRequest,
} from "../../../gen/meguri/programs/v1/program_service_pb.ts";
import { mayUseProgram } from "../../../platform/edge/authorize.ts";
import { callerOf, callOf, identityOf } from "../../../platform/edge/context.ts";
import { requestedPage } from "../../../platform/messages/page-tokens.ts";
import { maskedFields } from "../../../platform/messages/update-masks.ts";
import type { Deps } from "../../ports/deps.ts";
import { defaultLifetimeMonths, defaultTimeZone } from "../../rules/program.ts";
import { createProgram, updateProgram } from "../../use-cases/programs/commands.ts";
import {
  getProgram,
  listPrograms,
  listRuleChanges,
  withRules,
} from "../../use-cases/programs/queries.ts";
import { approveRulesChange, rejectRulesChange } from "../../use-cases/programs/rule-changes.ts";
import { fromProgram, toProgramChanges } from "./messages.ts";
import { fromRuleChange, toBulkRules } from "./rules.ts";

export function programService(deps: Deps): ServiceImpl<typeof ProgramService> {
  return {
    async createProgram({ programId, timeZone, lifetimeMonths, bulkRules }, context) {
      const { replayed, ...created } = await createProgram(deps, {
        programId,
        timeZone: timeZone || defaultTimeZone,
        lifetimeMonths: lifetimeMonths || defaultLifetimeMonths,
        bulkRules: bulkRules && {
          rules: toBulkRules(bulkRules, "bulk_rules"),
          proposer: callerOf(context),
        },
        ...callOf(context),
      });
      return { program: fromProgram(created), replayed };
    },

    async getProgram({ programId }) {
      return { program: fromProgram(await withRules(deps, await getProgram(deps, programId))) };
    },

    /** A page may be short: it leaves out the programs that the caller may not use. */
    async listPrograms(request, { values }) {
      const { page, next } = requestedPage(ListProgramsRequestSchema, request);
      const found = await listPrograms(deps, page);
      return {
        programs: found.items
          .filter(({ program }) => mayUseProgram(identityOf(values), program.programId))
          .map(fromProgram),
        nextPageToken: next(found),
      };
    },

    async updateProgram(request, context) {
      const program = request.program as ProgramMessage;
      const { programId, etag } = program;
      const changes = toProgramChanges(maskedFields(updatable, program, request.updateMask));
      const { reason } = request;
      const input = { programId, ...changes, reason, etag, ...callOf(context) };
      return { program: fromProgram(await updateProgram(deps, input)) };
    },

    async approveRulesChange(request, context) {
      const approved = await approveRulesChange(deps, toDecision(request, context));
      return { program: fromProgram(approved) };
    },

    async rejectRulesChange(request, context) {
      const rejected = await rejectRulesChange(deps, toDecision(request, context));
      return { program: fromProgram(rejected) };
    },

    async listRulesChanges(request) {
      const { programId } = request;
      const { page, next } = requestedPage(ListRulesChangesRequestSchema, request);
      const found = await listRuleChanges(deps, programId, page);
      return {
        rulesChanges: found.items.map(fromRuleChange),
        nextPageToken: next(found),
      };
    },
  };
}

/** The decision of the caller, and the change of the rules that it is about. */
const toDecision = (
  { programId, digest, reason }: ApproveRulesChangeRequest | RejectRulesChangeRequest,
  context: HandlerContext,
) => ({ programId, digest, reason, ...callOf(context) });

const updatable = {
  schema: ProgramSchema,
  path: "program",
  key: ["program_id", "etag"],
  updatable: [
    "lifetime_months",
    "notices",
    "bulk_rules",
    "reservation_shard_count",
    "balance_limits",
  ],
};
