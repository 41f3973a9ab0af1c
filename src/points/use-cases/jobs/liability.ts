/** The job that adds up what a program owes its members. */
import pLimit from "p-limit";
import { DomainError } from "../../../platform/words/errors.ts";
import { formatInstant, formatMonth, type Instant } from "../../../platform/words/month.ts";
import { addCounts } from "../../../platform/words/sums.ts";
import { type LiabilityRequest, liabilityKind } from "../../contract/liability-reports.ts";
import type { Deps } from "../../ports/deps.ts";
import type { Account } from "../../rules/account.ts";
import type { Job } from "../../rules/jobs.ts";
import { noTotals } from "../../rules/ledger.ts";
import {
  type CountedLiability,
  type Liability,
  liabilityOf,
  outstandingOf,
} from "../../rules/liability.ts";
import type { Program } from "../../rules/program.ts";
import { readPastAccount } from "../past-balance.ts";
import { sweepAccounts } from "../sweep-accounts.ts";
import type { JobType } from "./jobs.ts";

/** The number of accounts that a page of the scan reads. */
const scanPage = 250;

/** The accounts of a page that are read concurrently. */
const concurrency = 4;

/**
 * This process reads 64 accounts for reports at a time. Further ones take turns, because many
 * reports may run, beside reservations that are due.
 */
const inTurn = pLimit(64);

/** So many accounts in a row that cannot be read are an outage. */
const outageAfter = 8;

/**
 * The report of what a program owes: adds up the accounts as of the instant at which the report was
 * asked for. Its step throws PROGRAM_NOT_FOUND, PROGRAM_STALE, and the error of an outage.
 */
export const liabilityReport: JobType<CountedLiability, LiabilityRequest> = {
  kind: liabilityKind,

  check(_, { request: { since }, createTime }) {
    if (since === undefined || since < createTime) return;
    throw new DomainError("INVALID_REQUEST", "since is not past", { field: "since" });
  },

  async step(deps, job, { segment, segments }, start, from, shouldContinue, warn) {
    const { programId } = job;
    const program = await deps.programs.get(programId);
    return sweepAccounts(
      {
        read: (cursor) =>
          deps.reader.accounts(programId, segment, segments, { size: scanPage, cursor }),
        process: (account) => inTurn(() => readLiability(deps, program, account, job)),
        add: (counts, liability) =>
          addCounts<CountedLiability>(counts, { ...noFailures, ...liability }),
        onFailed: (_userId, err) => warn("an account could not be added to a report", { err }),
        concurrency,
        outageAfter,
      },
      start,
      from,
      shouldContinue,
    );
  },

  async finish(deps, job, sum) {
    const { createTime, request, programId } = job;
    const { timeZone } = await deps.programs.get(programId);
    const { outstanding, buckets } = await readOutstanding(deps, job, sum);
    const time = (instant: Instant) => formatInstant(instant, timeZone);
    const points = (count: bigint) => `${count} ${count === 1n ? "point was" : "points were"}`;
    const held = sum.held === undefined ? "" : `, and ${points(BigInt(sum.held))} held`;
    const period = request.since === undefined ? "of all time" : `since ${time(request.since)}`;
    const totals = Object.keys(noTotals).filter((name) => sum.totals[name] !== undefined);
    return [
      `As of ${time(createTime)}, ${points(outstanding)} outstanding${held}.`,
      table(
        ["granted in", "expire", "points"],
        buckets.map((each) => [formatMonth(each.month), time(each.expireTime), each.points]),
      ),
      table(
        [period, "points"],
        totals.map((name) => [name.replace("Points", ""), sum.totals[name] ?? ""]),
      ),
    ].join("\n\n");
  },
};

/** A table in Markdown. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Returns the outstanding points of a report that is done, and when those of each month expire. */
export const readOutstanding = async (
  { programs }: Pick<Deps, "programs">,
  { programId, createTime }: Pick<Job, "programId" | "createTime">,
  sum: Liability,
) => outstandingOf(await programs.get(programId), sum, createTime);

const noFailures = { failed: 0, failures: [] };

/**
 * Reads what one account adds. The account of the scan suffices for an instant behind its last
 * entry. Throws LEDGER_DAMAGED.
 */
async function readLiability(
  deps: Pick<Deps, "engine" | "reader">,
  program: Program,
  account: Account,
  { createTime, request: { since } }: Job<CountedLiability, LiabilityRequest>,
): Promise<Liability> {
  const end = await readPastAccount(deps, program, account, createTime);
  const start =
    since === undefined ? undefined : await readPastAccount(deps, program, account, since);
  return liabilityOf(end, start);
}
