/** Adds up what a program owes, over the accounts of one segment, in steps. */
import pLimit from "p-limit";
import { storeOutages } from "../../platform/work/suspects.ts";
import { type SweepPlace, sweep } from "../../platform/work/sweep.ts";
import type { Deps } from "../ports/deps.ts";
import type { Account } from "../rules/account.ts";
import { type CountedLiability, type LiabilityReport, liabilityOf } from "../rules/liability.ts";
import { addLiability, type Liability, noLiability } from "../rules/liability-sums.ts";
import type { Program } from "../rules/program.ts";
import { getLiabilityReport } from "./liability-reports.ts";
import { readPastAccount } from "./past-balance.ts";

/** The number of items of the table that a page of the scan reads. */
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

/** An account in heartbeats and reports. */
interface Named {
  readonly userId: string;
}

/** One of `segments` segments of the table. */
interface Segment {
  readonly programId: string;
  readonly reportId: string;
  readonly segment: number;
  readonly segments: number;
}

/** The sum so far, from which another call can continue. */
export type ReportProgress = CountedLiability & SweepPlace<Named>;

/**
 * Adds up the accounts of one segment as of the instant of the report, from the cursor on, until
 * `shouldContinue` returns false. The input may contain the progress so far, which is added to. An
 * account that fails is counted and named, and the work continues with the next one. Throws
 * PROGRAM_NOT_FOUND, LIABILITY_REPORT_NOT_FOUND, PROGRAM_STALE, and the error of an outage.
 */
export async function reportSegment(
  deps: Pick<Deps, "engine" | "reader" | "programs">,
  input: Segment & Partial<ReportProgress>,
  shouldContinue: (progress: ReportProgress) => boolean,
  onFailed: (userId: string, error: unknown) => void = () => {},
): Promise<ReportProgress> {
  const { programId, segment, segments, failed = 0, failures = [] } = input;
  const { accounts, members, months, totals, held } = { ...noLiability, ...input };
  const report = await getLiabilityReport(deps, input);
  const program = await deps.programs.get(programId);
  return sweep(
    {
      read: (cursor) =>
        deps.reader.accounts(programId, segment, segments, { size: scanPage, cursor }),
      process: (account) => inTurn(() => readLiability(deps, program, account, report)),
      add: (counts, liability) => ({ ...counts, ...addLiability(counts, liability) }),
      nameOf: ({ userId }) => ({ userId }),
      keyOf: ({ userId }) => userId,
      onFailed: ({ userId }, error) => onFailed(userId, error),
      concurrency,
      outages: storeOutages,
      outageAfter,
    },
    { accounts, members, months, totals, ...(held && { held }), failed, failures },
    input,
    shouldContinue,
  );
}

/**
 * Reads what one account adds. The account of the scan suffices for an instant behind its last
 * entry. Throws LEDGER_DAMAGED.
 */
async function readLiability(
  deps: Pick<Deps, "engine" | "reader">,
  program: Program,
  account: Account,
  { asOf, since }: LiabilityReport,
): Promise<Liability> {
  const end = await readPastAccount(deps, program, account, asOf);
  const start =
    since === undefined ? undefined : await readPastAccount(deps, program, account, since);
  return liabilityOf(end, start);
}
