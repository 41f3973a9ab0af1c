/** Verifies many accounts, in steps that can be interrupted anywhere, even within a ledger. */
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

/** How many items of the table one step of a scan looks at. */
const scanPage = 1_000;

/** How many differences of one account a report names. */
const maxNamed = 20;

/** Where a segment goes on: at the beginning of a page, or at an account of it. */
interface Place {
  /** The reader's cursor of the page; absent for the first one. */
  readonly scan?: string | undefined;
  readonly userId?: string;
  /** How far the account was verified. */
  readonly progress?: AccountProgress;
}

/** Asks, with what was found so far, whether to go on. */
type More = (progress: VerifySegmentResult) => boolean;

/** What the accounts so far have added up to. */
interface Tally {
  accounts: number;
  entries: number;
  wrong: number;
  failed: number;
  readonly reports: AccountReport[];
  readonly failures: FailedAccount[];
}

/**
 * Verifies the accounts of one segment from its cursor on, until `more` says stop: it is asked
 * after every account and every page of a ledger. An account that cannot be verified is counted and
 * named, and does not hold up the others; an outage is thrown.
 */
export async function verifySegment(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  { program: programId, segment, segments, cursor }: VerifySegmentInput,
  more: More,
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
      const stopped = await verifyNext(deps, program, userId, from, tally, onFailed, (progress) =>
        more(resultOf(tally, cursorOf({ scan, userId, progress }))),
      );
      if (stopped) return resultOf(tally, cursorOf({ scan, userId, progress: stopped }));
      const next = userIds[i + 1];
      if (next === undefined) break;
      const result = resultOf(tally, cursorOf({ scan, userId: next }));
      if (!more(result)) return result;
    }
    const result = resultOf(tally, page.cursor);
    if (page.cursor === undefined || !more(result)) return result;
    place = { scan: page.cursor };
  }
}

/** Verifies one account into the tally. Returns how far it has come when `more` says stop. */
async function verifyNext(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  program: Program,
  userId: string,
  from: AccountProgress | undefined,
  tally: Tally,
  onFailed: OnFailed,
  more: (progress: AccountProgress) => boolean,
): Promise<AccountProgress | undefined> {
  try {
    const steps = verificationSteps(deps, program, userId, from ? { from } : {});
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        addAccount(tally, userId, value);
        return undefined;
      }
      if (!more(value)) return value;
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

/** Between two pages a cursor is the reader's own, as it always was. */
const cursorOf = (place: Place): string => JSON.stringify(place);

function placeOf(cursor: string | undefined): Place {
  if (cursor === undefined) return {};
  const place = JSON.parse(cursor) as Place;
  return typeof place.userId === "string" ? place : { scan: cursor };
}
