/** The handlers of the PointsService that start, read and list jobs. */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { LedgerExportSchema } from "../../gen/meguri/points/v1/ledger_export_pb.ts";
import type { LiabilityReportSchema } from "../../gen/meguri/points/v1/liability_report_pb.ts";
import {
  ListLedgerExportsRequestSchema,
  ListLiabilityReportsRequestSchema,
  ListProgramVerificationsRequestSchema,
  type PointsService,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { ProgramJobSchema } from "../../gen/meguri/points/v1/program_job_pb.ts";
import type { ProgramVerificationSchema } from "../../gen/meguri/points/v1/program_verification_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { fromRecord } from "../../platform/messages/records.ts";
import {
  fromInstant,
  fromOptionalInstant,
  toInstant,
  toOptionalInstant,
} from "../../platform/messages/scalars.ts";
import { formatMonth } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import type { JobRequest } from "../rules/jobs.ts";
import { ledgerExport } from "../use-cases/jobs/export-ledger.ts";
import {
  getJob,
  type IdOfJob,
  type JobRun,
  type JobType,
  listJobs,
  startJob,
} from "../use-cases/jobs/jobs.ts";
import { liabilityReport, readOutstanding } from "../use-cases/jobs/liability.ts";
import { verification } from "../use-cases/jobs/verification.ts";
import { fromUnreadables } from "./export-format.ts";

export function programJobs(deps: Deps) {
  const verifications = jobsOf(deps, verification, fromVerification);
  const reports = jobsOf(deps, liabilityReport, (run) => fromReport(deps, run));
  const exports = jobsOf(deps, ledgerExport, fromExport);
  return {
    async verifyProgram(request, context) {
      const { repair } = request;
      const { found, replayed } = await verifications.start(request, context, { repair });
      return { verification: found, replayed };
    },
    getProgramVerification: async (request) => ({ verification: await verifications.get(request) }),
    async listProgramVerifications(request) {
      const schema = ListProgramVerificationsRequestSchema;
      const { found, nextPageToken } = await verifications.list(schema, request);
      return { verifications: found, nextPageToken };
    },

    async createLiabilityReport(request, context) {
      const since = toOptionalInstant(request.since, "since");
      const { found, replayed } = await reports.start(request, context, { since });
      return { report: found, replayed };
    },
    getLiabilityReport: async (request) => ({ report: await reports.get(request) }),
    async listLiabilityReports(request) {
      const { found, nextPageToken } = await reports.list(
        ListLiabilityReportsRequestSchema,
        request,
      );
      return { liabilityReports: found, nextPageToken };
    },

    async exportLedger(request, context) {
      const { destination, createTimeFrom, createTimeBefore } = request;
      const { found, replayed } = await exports.start(request, context, {
        destination,
        start: toOptionalInstant(createTimeFrom, "create_time_from"),
        end: toInstant(createTimeBefore as Timestamp, "create_time_before"),
      });
      return { ledgerExport: found, replayed };
    },
    getLedgerExport: async (request) => ({ ledgerExport: await exports.get(request) }),
    async listLedgerExports(request) {
      const { found, nextPageToken } = await exports.list(ListLedgerExportsRequestSchema, request);
      return { ledgerExports: found, nextPageToken };
    },
  } satisfies Partial<ServiceImpl<typeof PointsService>>;
}

/** Calls the use cases of a kind, and turns their answers into messages. */
function jobsOf<Sum extends object, Request extends JobRequest, Message>(
  deps: Deps,
  type: JobType<Sum, Request>,
  toMessage: (run: JobRun<Sum, Request>) => Message | Promise<Message>,
) {
  return {
    async start(name: IdOfJob, context: HandlerContext, request: Request) {
      const { replayed, ...run } = await startJob(deps, type, {
        ...toName(name),
        request,
        ...callOf(context),
      });
      return { found: await toMessage(run), replayed };
    },
    get: async (name: IdOfJob) => toMessage(await getJob(deps, type, toName(name))),
    async list<D extends DescMessage>(schema: D, request: MessageShape<D> & ListRequest) {
      const { page, next } = requestedPage(schema, request);
      const found = await listJobs(deps, type, toProgramId(request.programId), page);
      return {
        found: await Promise.all(found.items.map(toMessage)),
        nextPageToken: next(found),
      };
    },
  };
}

interface ListRequest {
  readonly programId: string;
  readonly pageSize: number;
  readonly pageToken: string;
}

const toName = ({ programId, jobId }: IdOfJob): IdOfJob => ({
  programId: toProgramId(programId),
  jobId,
});

const fromJob = (run: JobRun): MessageInitShape<typeof ProgramJobSchema> =>
  fromRecord(ProgramJobSchema, { ...run, endTime: run.result?.endTime });

type Run<T> = T extends JobType<infer Sum, infer Request> ? JobRun<Sum, Request> : never;

function fromVerification(
  run: Run<typeof verification>,
): MessageInitShape<typeof ProgramVerificationSchema> {
  const { sum, request } = run;
  return {
    job: fromJob(run),
    accountCount: BigInt(sum.accounts),
    entryCount: BigInt(sum.entries),
    wrongAccountCount: BigInt(sum.wrong),
    repair: request.repair,
    repairedAccountCount: BigInt(sum.repaired),
    reports: sum.reports.map(({ userId, differences, unreported }) => ({
      userId,
      differences: differences.map((difference) => ({ ...difference })),
      unreportedDifferenceCount: BigInt(unreported),
    })),
    failedAccountCount: BigInt(sum.failed),
    failures: sum.failures.map((failure) => ({ ...failure })),
  };
}

async function fromReport(
  deps: Deps,
  run: Run<typeof liabilityReport>,
): Promise<MessageInitShape<typeof LiabilityReportSchema>> {
  const { sum, request, createTime } = run;
  const report = {
    job: fromJob(run),
    asOf: fromInstant(createTime),
    since: fromOptionalInstant(request.since),
    accountCount: BigInt(sum.accounts),
    memberCount: BigInt(sum.members),
    failedAccountCount: BigInt(sum.failed),
    failures: sum.failures.map((failure) => ({ ...failure })),
  };
  // The sums of some of the accounts would be read as those of all.
  if (!run.result) return report;
  const { outstanding, buckets } = await readOutstanding(deps, run, sum);
  return {
    ...report,
    outstandingPoints: outstanding,
    stillHeldPoints: BigInt(sum.held ?? 0),
    buckets: buckets.map(({ month, points, expireTime }) => ({
      month: formatMonth(month),
      points: BigInt(points),
      expireTime: fromInstant(expireTime),
    })),
    // The totals have the names of the message's fields.
    totals: Object.fromEntries(
      Object.entries(sum.totals).map(([name, points]) => [name, BigInt(points)]),
    ),
  };
}

function fromExport(run: Run<typeof ledgerExport>): MessageInitShape<typeof LedgerExportSchema> {
  const { sum, request } = run;
  return {
    job: fromJob(run),
    destination: request.destination,
    folder: `${run.programId}/${run.jobId}`,
    createTimeFrom: fromOptionalInstant(request.start),
    createTimeBefore: fromInstant(request.end),
    entryCount: BigInt(sum.entries),
    partCount: BigInt(sum.parts),
    byteCount: BigInt(sum.bytes),
    unreadableEntryCount: BigInt(sum.unreadable),
    unreadableEntries: fromUnreadables(sum.unreadables),
  };
}
