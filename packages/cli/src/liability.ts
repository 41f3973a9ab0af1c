/** The commands about liability reports: create, show and list. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  Balance_TotalsSchema,
  CreateLiabilityReportResponseSchema,
  GetLiabilityReportResponseSchema,
  type LiabilityReport,
  LiabilityReportSchema,
  LiabilityReport_State as State,
  LiabilityReport_StateSchema as StateSchema,
} from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { exitCodes } from "./exit-codes.ts";
import { enumName, pastTimeFormat, programOption, readTime } from "./options.ts";
import { type Cell, type Columns, formatTime, type Output, printable } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addLiability: AddCommand = (parent, inSession) => {
  const liability = parent
    .command("liability")
    .summary("report the points that a program owes")
    .description(
      "A liability report says which points are outstanding at an instant, by the month in which " +
        "they expire, and what became of points before.",
    );
  for (const add of [addCreate, addShow, addList]) add(liability, inSession);
};

const addCreate: AddCommand = (parent, inSession) => {
  parent
    .command("create")
    .summary("report as of now")
    .description(
      "Starts a report as of this moment, and does not wait for it. Repeated with the same id it " +
        "is the same report.",
    )
    .argument("<id>", "the id of the report, such as 2026-11-30")
    .addOption(programOption())
    .option("--since <time>", `totals of what was recorded since ${pastTimeFormat}`, readTime)
    .addHelpText(
      "after",
      examples("meguri liability create 2026-11-30 --since 2026-11-01T00:00+09:00"),
    )
    .action(
      inSession(async ({ meguri, out, call }, reportId, { program: programId, since }) => {
        const request = { programId, reportId, ...(since && { since }) };
        const answer = await meguri.points.createLiabilityReport(request, call);
        await out.message(
          CreateLiabilityReportResponseSchema,
          answer,
          ({ report, replayed }) =>
            `${about(report)}${replayed ? "; replayed: it existed already" : ""}\n`,
        );
      }),
    );
};

const addShow: AddCommand = (parent, inSession) => {
  parent
    .command("show")
    .summary("show a liability report")
    .description("Shows a report. Until all accounts are read it has no sums.")
    .argument("<id>", "the id of the report")
    .addOption(programOption())
    .option("--csv", "print it as CSV", false)
    .addHelpText(
      "after",
      examples("meguri liability show 2026-11-30", "meguri liability show 2026-11-30 --csv"),
    )
    .action(
      inSession(async (session, reportId, { program: programId, csv }) => {
        const { meguri, out, call } = session;
        const answer = await meguri.points.getLiabilityReport({ programId, reportId }, call);
        const { report } = answer;
        if (!report) return;
        const text = csv ? csvOf : textOf(out);
        const isDone = report.state === State.DONE;
        await out.message(GetLiabilityReportResponseSchema, answer, () =>
          isDone ? text(report) : "",
        );
        await out.note(about(report));
        if (!isDone || report.failedAccountCount > 0n) session.exitCode = exitCodes.refused;
      }),
    );
};

const columns: Columns<LiabilityReport> = {
  report: ({ reportId }) => reportId,
  state: ({ state }) => enumName(StateSchema, state),
  "as of": ({ asOf }) => asOf,
  since: ({ since }) => since,
  outstanding: ({ outstandingPoints }) => outstandingPoints,
  held: ({ stillHeldPoints }) => stillHeldPoints,
  members: ({ memberCount }) => memberCount,
  failed: ({ failedAccountCount }) => failedAccountCount,
};

const addList: AddCommand = (parent, inSession) => {
  parent
    .command("list")
    .summary("list liability reports by their ids")
    .description("Lists the liability reports of a program in the order of their ids.")
    .addOption(programOption())
    .addHelpText("after", examples("meguri liability list -p shop"))
    .action(
      inSession(async ({ meguri, out, call }, { program: programId }) => {
        const pages = pagesOf(async (page) => {
          const answer = await meguri.points.listLiabilityReports({ programId, ...page }, call);
          return [answer.liabilityReports, answer.nextPageToken];
        });
        await out.list(LiabilityReportSchema, pages, columns);
      }),
    );
};

/** The sums of a report by the names of the API. */
const sumsOf = (report: LiabilityReport): Cell[][] => [
  ["outstanding_points", report.outstandingPoints],
  ["still_held_points", report.stillHeldPoints],
  ...Balance_TotalsSchema.fields.map(({ name, localName }) => [
    name,
    report.totals?.[localName as "issuedPoints"],
  ]),
  ["account_count", report.accountCount],
  ["member_count", report.memberCount],
  ["failed_account_count", report.failedAccountCount],
];

const textOf =
  (out: Output) =>
  (report: LiabilityReport): string => {
    const months = report.buckets.map(({ month, points, expireTime }): Cell[] => [
      month,
      points,
      expireTime,
    ]);
    const failures = report.failures.map(({ userId, reason }) => [userId, reason]);
    return (
      out.table(sumsOf(report)) +
      out.table(months, ["month", "points", "expires"]) +
      out.table(failures, ["failed user", "reason"])
    );
  };

/** A line for each sum, and one for each month with outstanding points. No value needs quotes. */
function csvOf(report: LiabilityReport): string {
  const months = report.buckets.map(({ month, points, expireTime }) => [
    "bucket",
    points,
    month,
    expireTime && timestampDate(expireTime).toISOString(),
  ]);
  const sums = sumsOf(report).map((cells) => [...cells, "", ""]);
  return [["item", "value", "month", "expire_time"], ...sums, ...months]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("");
}

/** One line: the report and its state. */
function about(report: LiabilityReport | undefined): string {
  if (!report) return "";
  const { programId, reportId, state, asOf } = report;
  const name = `liability report ${reportId} of ${programId}`;
  return printable(`${enumName(StateSchema, state)}: ${name} as of ${formatTime(asOf)}`);
}
