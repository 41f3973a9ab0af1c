/** Verifies the accounts of one segment in steps that can be interrupted, even within a ledger. */
import {
  type AccountReport,
  type FailedAccount,
  maxReports,
  type VerifySegmentInput,
  type VerifySegmentResult,
} from "../../contract.ts";
import type { Program } from "../../domain/program.ts";
import type { Deps } from "../ports/deps.ts";
import { failedAccount, type OnFailed } from "./failed-accounts.ts";
import { type AccountProgress, type VerifiedAccount, verificationSteps } from "./verify-account.ts";

/** The number of items of the table that one step of the scan reads. */
const scanPage = 1_000;

/** A report names at most this many differences of one account. */
const maxNamed = 20;

/**
 * The place at which a segment continues: the beginning of a page, or an account of the page.
 * Cursors contain it as JSON, so its property names do not change.
 */
interface Place {
  /** The reader's cursor of the page; undefined for the first one. */
  readonly scan?: string | undefined;
  readonly userId?: string;
  /** The progress within the account. */
  readonly progress?: AccountProgress;
}

/** Reports progress. Returns whether the work should continue. */
type ShouldContinue = (progress: VerifySegmentResult) => boolean;

/** The counts and reports of the accounts so far. */
interface Tally {
  accounts: number;
  entries: number;
  wrong: number;
  failed: number;
  readonly reports: AccountReport[];
  readonly failures: FailedAccount[];
}

/**
 * Verifies the accounts of one segment from its cursor on, until `shouldContinue` returns false. It
 * is called after every account and every page of a ledger. An account that fails is counted and
 * named, and the work continues with the next one. Throws PROGRAM_NOT_FOUND, PROGRAM_STALE, and
 * the error of an outage.
 */
export async function verifySegment(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  { program: programId, segment, segments, cursor }: VerifySegmentInput,
  shouldContinue: ShouldContinue,
  onFailed: OnFailed = () => {},
): Promise<VerifySegmentResult> {
  const tally: Tally = { accounts: 0, entries: 0, wrong: 0, failed: 0, reports: [], failures: [] };
  let place = placeOf(cursor);
  for (;;) {
    const program = await deps.programs.get(programId);
    const request = { size: scanPage, cursor: place.scan };
    const page = await deps.reader.accounts(programId, segment, segments, request);
    const userIds = page.items.map(({ userId }) => userId);
    const { scan } = place;
    for (let i = Math.max(userIds.indexOf(place.userId ?? ""), 0); i < userIds.length; i++) {
      const userId = userIds[i] as string;
      const from = userId === place.userId ? place.progress : undefined;
      const continueWithin = (progress: AccountProgress) =>
        shouldContinue(resultOf(tally, cursorOf({ scan, userId, progress })));
      const stopped = await verifyNext(
        deps,
        program,
        userId,
        from,
        tally,
        onFailed,
        continueWithin,
      );
      if (stopped) return resultOf(tally, cursorOf({ scan, userId, progress: stopped }));
      const next = userIds[i + 1];
      if (next === undefined) break;
      const result = resultOf(tally, cursorOf({ scan, userId: next }));
      if (!shouldContinue(result)) return result;
    }
    const result = resultOf(tally, page.cursor);
    if (page.cursor === undefined || !shouldContinue(result)) return result;
    place = { scan: page.cursor };
  }
}

/** Adds one account to the tally. Returns the progress when `shouldContinue` returns false. */
async function verifyNext(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  program: Program,
  userId: string,
  from: AccountProgress | undefined,
  tally: Tally,
  onFailed: OnFailed,
  shouldContinue: (progress: AccountProgress) => boolean,
): Promise<AccountProgress | undefined> {
  try {
    const steps = verificationSteps(deps, program, userId, from ? { from } : {});
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        addAccount(tally, userId, value);
        return undefined;
      }
      if (!shouldContinue(value)) return value;
    }
  } catch (error) {
    const failure = failedAccount(userId, error, onFailed);
    tally.failed += 1;
    if (tally.failures.length < maxReports) tally.failures.push(failure);
    return undefined;
  }
}

function addAccount(tally: Tally, userId: string, found: VerifiedAccount): void {
  tally.accounts += 1;
  tally.entries += found.sum.entryCount;
  if (found.differenceCount === 0) return;
  tally.wrong += 1;
  if (tally.reports.length === maxReports) return;
  const differences = found.differences.slice(0, maxNamed);
  const unreported = found.differenceCount - differences.length;
  tally.reports.push({ user: userId, differences, ...(unreported > 0 && { unreported }) });
}

const resultOf = (tally: Tally, cursor: string | undefined): VerifySegmentResult => ({
  ...tally,
  reports: [...tally.reports],
  failures: [...tally.failures],
  ...(cursor !== undefined && { cursor }),
});

const cursorOf = (place: Place): string => JSON.stringify(place);

/** Parses a cursor. Between two pages it is the reader's own cursor, without a `userId`. */
function placeOf(cursor: string | undefined): Place {
  if (cursor === undefined) return {};
  const place = JSON.parse(cursor) as Place;
  return typeof place.userId === "string" ? place : { scan: cursor };
}
