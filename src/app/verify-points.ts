import type { AccountReport, VerifySegmentInput, VerifySegmentResult } from "../contract.ts";
import { maxReports } from "../contract.ts";
import { DomainError } from "../domain/errors.ts";
import {
  compare,
  type Difference,
  type Replay,
  rebuild,
  replayEntry,
  startReplay,
} from "../domain/replay.ts";
import { type AccountName, accountRef, type Deps, type Verification } from "./ports.ts";

/** How many entries one read brings. */
const entryPage = 500;

/** How often a repair starts again because the account was written meanwhile. */
const tries = 10;

/** What a replay of the ledger found. */
export interface Verified {
  readonly differences: readonly Difference[];
  readonly entries: number;
  readonly repaired: boolean;
}

/**
 * Replays an account's ledger and reports every difference; `repair` rebuilds the account from it
 * under the version that was read. Refusals: PROGRAM_NOT_FOUND, CONTENDED when the account is
 * written all the time.
 */
export async function verifyAccount(
  deps: Deps,
  name: AccountName,
  repair: boolean,
  deadline?: number,
): Promise<Verified> {
  const program = await deps.programs.get(name.program);
  const ref = accountRef(name.program, name.user);
  for (let i = 0; i < tries; i++) {
    const { stored, replay } = await replayLedger(deps, name);
    const { calendar } = await deps.clock.now();
    const differences = compare(stored?.value, replay, program, name.user, calendar);
    const rebuilt = rebuild(replay, program, name.user);
    const wrong = differences.length > replay.faults.length;
    if (!repair || !wrong || !rebuilt) {
      return { differences, entries: replay.last, repaired: false };
    }
    const version = stored?.version ?? 0;
    const repaired = await deps.engine.run({
      key: ref,
      reads: [ref],
      absent: [],
      deadline,
      decide(view) {
        if (view.version(ref) !== version) return false;
        view.put(ref, rebuilt);
        return true;
      },
    });
    if (repaired) return { differences, entries: replay.last, repaired };
  }
  throw new DomainError("CONTENDED", "the account is written all the time; try again");
}

/**
 * The account, and its ledger added up as far as the account has come: entries never change, so
 * what is written meanwhile does not disturb. Entries behind an account that stands still are its
 * own, and are added up, too.
 */
async function replayLedger(deps: Deps, name: AccountName) {
  const ref = accountRef(name.program, name.user);
  const stored = await deps.reader.get(ref);
  const replay = startReplay();
  const last = stored?.value.last ?? 0;
  if (last > 0) await addEntries(deps, name, replay, 1, last);
  const behind = { from: last + 1, to: Number.MAX_SAFE_INTEGER, newestFirst: false, types: [] };
  const { items } = await deps.reader.entries(name, behind, { size: 1, cursor: undefined });
  if (items.length > 0 && (await deps.reader.get(ref))?.version === stored?.version) {
    await addEntries(deps, name, replay, behind.from, behind.to);
  }
  return { stored, replay };
}

async function addEntries(
  deps: Deps,
  name: AccountName,
  replay: Replay,
  from: number,
  to: number,
): Promise<void> {
  const query = { from, to, newestFirst: false, types: [] };
  let cursor: string | undefined;
  do {
    const page = await deps.reader.entries(name, query, { size: entryPage, cursor });
    for (const entry of page.items) replayEntry(replay, entry);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** How many items of the table one step of a scan looks at. */
const scanPage = 1_000;

/**
 * Verifies the accounts of one segment from its cursor on, until `more` says stop. A page that was
 * begun is finished, so the cursor that comes back is always a place to go on from.
 */
export async function verifySegment(
  deps: Deps,
  { program, segment, segments, cursor: start }: VerifySegmentInput,
  more: (progress: VerifySegmentResult) => boolean,
): Promise<VerifySegmentResult> {
  let accounts = 0;
  let entries = 0;
  let wrong = 0;
  const reports: AccountReport[] = [];
  let cursor = start;
  for (;;) {
    const page = await deps.reader.accounts(program, segment, segments, { size: scanPage, cursor });
    for (const name of page.items) {
      const found = await verifyAccount(deps, name, false);
      accounts += 1;
      entries += found.entries;
      if (found.differences.length === 0) continue;
      wrong += 1;
      if (reports.length < maxReports) {
        reports.push({ user: name.user, differences: found.differences.slice(0, 20) });
      }
    }
    cursor = page.cursor;
    const result = { accounts, entries, wrong, reports, ...(cursor !== undefined && { cursor }) };
    if (cursor === undefined || !more(result)) return result;
  }
}

/** Starts the verification of a program, or joins the one that runs. */
export async function verifyProgram(deps: Deps, program: string): Promise<Verification> {
  await deps.programs.get(program);
  await deps.workflows.startVerification(program);
  return getProgramVerification(deps, program);
}

/** How far the latest one has come. Refusals: PROGRAM_NOT_FOUND, VERIFICATION_NOT_FOUND. */
export async function getProgramVerification(deps: Deps, program: string): Promise<Verification> {
  await deps.programs.get(program);
  const found = await deps.workflows.verification(program);
  if (!found) {
    throw new DomainError("VERIFICATION_NOT_FOUND", "this program was not verified lately");
  }
  return found;
}
