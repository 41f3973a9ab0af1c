/** The commands about liability reports: create, show and list. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  Balance_TotalsSchema,
  GetLiabilityReportRequestSchema,
  GetLiabilityReportResponseSchema,
  type LiabilityReport,
  LiabilityReportSchema,
  PointsService,
  ProgramJob_State as State,
} from "@meguri/client/points";
import { jobState } from "./calls.ts";
import { type Commands, lists, runs, says } from "./command.ts";
import { columnsOf, linesOf } from "./fields.ts";
import { pastTimeFormat, program } from "./options.ts";
import { formatTime, line, type Output } from "./output.ts";
import { conclude } from "./session.ts";

const { method } = PointsService;

export const liabilities: Commands = {
  create: says(method.createLiabilityReport, {
    summary: "report as of now",
    description:
      "Starts a report as of this moment, and does not wait for it. Repeated with the same id it " +
      "is the same report.",
    takes: [
      "<id> = jobId: the id of the report, such as 2026-11-30",
      program,
      `--since <time> = since: totals of what was recorded since ${pastTimeFormat}`,
    ],
    examples: ["meguri liability create 2026-11-30 --since 2026-11-01T00:00+09:00"],
    text: ({ report, replayed }) =>
      line(`${about(report)}${replayed ? "; replayed: it existed already" : ""}`),
  }),

  show: runs(GetLiabilityReportRequestSchema, {
    summary: "show a liability report",
    description: "Shows a report. Until all accounts are read it has no sums.",
    takes: ["<id> = jobId: the id of the report", program, "--csv: print it as CSV"],
    examples: ["meguri liability show 2026-11-30", "meguri liability show 2026-11-30 --csv"],
    async run(session, request, { csv }) {
      const { meguri, out, call } = session;
      const answer = await meguri.points.getLiabilityReport(request, call);
      const { report } = answer;
      if (!report) return;
      const isDone = report.job?.state === State.DONE;
      await out.message(GetLiabilityReportResponseSchema, answer, () =>
        isDone ? (csv ? csvOf(report) : textOf(report, out)) : "",
      );
      await conclude(session, about(report), isDone && report.failedAccountCount === 0n);
    },
  }),

  list: lists<LiabilityReport>(method.listLiabilityReports, {
    summary: "list liability reports by their ids",
    description: "Lists the liability reports of a program in the order of their ids.",
    takes: [program],
    examples: ["meguri liability list -p shop"],
    columns: [
      "report: job.jobId, state: job.state, as of: asOf, since, outstanding: outstandingPoints",
      "held: stillHeldPoints, members: memberCount, failed: failedAccountCount",
    ],
  }),
};

/** The sums of a report by the names of the API. */
const sums = columnsOf<LiabilityReport>(LiabilityReportSchema, [
  "outstanding_points: outstandingPoints, still_held_points: stillHeldPoints",
  ...Balance_TotalsSchema.fields.map(({ name, localName }) => `${name}: totals.${localName}`),
  "account_count: accountCount, member_count: memberCount",
  "failed_account_count: failedAccountCount",
]);

function textOf(report: LiabilityReport, out: Output): string {
  const months = report.buckets.map(({ month, points, expireTime }) => [month, points, expireTime]);
  const failures = report.failures.map(({ userId, reason }) => [userId, reason]);
  return (
    out.table(linesOf(sums, report)) +
    out.table(months, ["month", "points", "expires"]) +
    out.table(failures, ["failed user", "reason"])
  );
}

/** A line for each sum, and one for each month with outstanding points. No value needs quotes. */
function csvOf(report: LiabilityReport): string {
  const months = report.buckets.map(({ month, points, expireTime }) => [
    "bucket",
    points,
    month,
    expireTime && timestampDate(expireTime).toISOString(),
  ]);
  const values = linesOf(sums, report).map((cells) => [...cells, "", ""]);
  return [["item", "value", "month", "expire_time"], ...values, ...months]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("");
}

/** One line: the report and its state. */
function about(report: LiabilityReport | undefined): string {
  if (!report) return "";
  const { job, asOf } = report;
  const name = `liability report ${job?.jobId} of ${job?.programId}`;
  return `${jobState(job)}: ${name} as of ${formatTime(asOf)}`;
}
