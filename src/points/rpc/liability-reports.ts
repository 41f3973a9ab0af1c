/** The handlers of the PointsService that report what a program owes its members. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type LiabilityReportSchema,
  LiabilityReport_State as State,
} from "../../gen/meguri/points/v1/liability_report_pb.ts";
import {
  ListLiabilityReportsRequestSchema,
  type PointsService,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callerOf, deadlineOf } from "../../platform/edge/context.ts";
import { fromCaller } from "../../platform/messages/callers.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { fromInstant, toOptionalInstant } from "../../platform/messages/scalars.ts";
import { formatMonth } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import type { LiabilityReport } from "../rules/liability.ts";
import {
  createLiabilityReport,
  getLiabilityReport,
  listLiabilityReports,
} from "../use-cases/liability-reports.ts";

type Reports = "createLiabilityReport" | "getLiabilityReport" | "listLiabilityReports";

export function liabilityReports(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Reports> {
  return {
    async createLiabilityReport(request, context) {
      const { replayed, ...report } = await createLiabilityReport(deps, {
        ...toName(request),
        since: toOptionalInstant(request.since, "since"),
        caller: callerOf(context),
        deadline: deadlineOf(context),
      });
      return { report: fromReport(report), replayed };
    },

    getLiabilityReport: async (request) => ({
      report: fromReport(await getLiabilityReport(deps, toName(request))),
    }),

    async listLiabilityReports(request) {
      const { page, next } = requestedPage(ListLiabilityReportsRequestSchema, request);
      const found = await listLiabilityReports(deps, toProgramId(request.programId), page);
      return { liabilityReports: found.items.map(fromReport), nextPageToken: next(found) };
    },
  };
}

const toName = (request: { readonly programId: string; readonly reportId: string }) => ({
  programId: toProgramId(request.programId),
  reportId: request.reportId,
});

function fromReport(report: LiabilityReport): MessageInitShape<typeof LiabilityReportSchema> {
  const { programId, reportId, asOf, since, caller, result } = report;
  const started = {
    programId,
    reportId,
    asOf: fromInstant(asOf),
    ...(since !== undefined && { since: fromInstant(since) }),
    caller: fromCaller(caller),
  };
  if (!result) return { ...started, state: State.RUNNING };
  return {
    ...started,
    state: State.DONE,
    endTime: fromInstant(result.endTime),
    accountCount: BigInt(result.accounts),
    memberCount: BigInt(result.members),
    outstandingPoints: BigInt(result.outstanding),
    stillHeldPoints: BigInt(result.held ?? 0),
    buckets: result.buckets.map(({ month, points, expireTime }) => ({
      month: formatMonth(month),
      points: BigInt(points),
      expireTime: fromInstant(expireTime),
    })),
    // The totals have the names of the message's fields.
    totals: Object.fromEntries(
      Object.entries(result.totals).map(([name, points]) => [name, BigInt(points)]),
    ),
    failedAccountCount: BigInt(result.failed),
    failures: result.failures.map((failure) => ({ ...failure })),
  };
}
