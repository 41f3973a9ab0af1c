/** The use cases that hold points, and that capture and release what is held. */

import { type Annotations, annotationsOf } from "../../platform/words/annotations.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { requestHash, requireSameRequest } from "../../platform/work/idempotency.ts";
import { accountRef, entryRef, eventRef } from "../../points/ports/records.ts";
import { availablePointsOf } from "../../points/rules/account.ts";
import { eventName, type LedgerEntry } from "../../points/rules/ledger.ts";
import type { ExpiredPointsPolicy } from "../../points/rules/points.ts";
import { replayedResult } from "../../points/use-cases/commands.ts";
import type { Deps } from "../ports/deps.ts";
import { holdRef } from "../ports/records.ts";
import {
  capture,
  captureEvent,
  type Hold,
  hold,
  isHoldEnd,
  type Release,
  release,
} from "../rules/hold.ts";
import {
  type ChangedHold,
  changeHold,
  type FoundHold,
  type HoldCall,
  type HoldChanger,
  putHold,
  requireMayChange,
} from "./change-hold.ts";
import { syncInBackground } from "./hold-runs.ts";

/** The values that every request for a change of a hold has. */
interface HoldRequest extends HoldCall, Annotations, HoldChanger {}

/** A hold as it is now, and the change of a call. */
export interface HoldResult {
  readonly hold: Hold;
  /** The entry of the change, by this call or an earlier one. */
  readonly entry: LedgerEntry;
  /** The points of the account right after the change. */
  readonly availablePoints: number;
  /** Whether an earlier call had made the change. */
  readonly replayed: boolean;
}

type CommandDeps = Pick<
  Deps,
  "engine" | "reader" | "programs" | "dueHours" | "workflows" | "clock" | "background"
>;

/**
 * Holds points, then starts the run of the hold in the background (`syncInBackground`). A start
 * that is lost with its process while Temporal answers only leaves operators without this run: a
 * repeated call starts it, and the sweeps of workers release what is due without one. Refusals:
 * PROGRAM_NOT_FOUND, ID_REUSED, and those of `hold`.
 */
export async function holdPoints(
  deps: CommandDeps,
  input: HoldRequest & {
    readonly points: Points;
    readonly allowPartial: boolean;
    readonly until: Instant;
    readonly expiredPointsPolicy: ExpiredPointsPolicy;
  },
): Promise<HoldResult> {
  const { programId, userId, points, allowPartial, until, caller } = input;
  const { expiredPointsPolicy: expired, validateOnly } = input;
  const given = { user: userId, points, allowPartial, until, expired, ...annotationsOf(input) };
  const hash = requestHash("hold", caller, given);
  await deps.programs.get(programId);
  // One with another end is refused, or a repeated call.
  if (!validateOnly && isHoldEnd(until, (await deps.clock.now()).wall)) {
    await deps.dueHours.mark(programId, until, input);
  }
  const account = accountRef(programId, userId);
  const ref = holdRef(input);
  const changed = await deps.engine.transact({
    key: account,
    readSet: [account],
    expectAbsent: [ref],
    call: input,
    decide(tx, now): ChangedHold {
      const existing = tx.get(ref);
      if (existing) {
        requireSameRequest(existing.hash, hash, "hold_id");
        return { hold: existing };
      }
      const program = deps.programs.current(programId);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const change = hold(state, { ...input, hash, wall: now.wall }, points, allowPartial);
      return putHold(tx, change);
    },
  });
  if (changed.hold.state === "HELD" && !validateOnly) {
    await syncInBackground(deps, changed.hold);
  }
  return resultOf(deps, changed, changed.hold);
}

/**
 * Captures held points, and releases the rest unless more captures follow. Refusals:
 * PROGRAM_NOT_FOUND, HOLD_NOT_FOUND, ID_REUSED, and those of `requireMayChange` and `capture`.
 */
export async function capturePoints(
  deps: CommandDeps,
  input: HoldRequest & {
    /** Chosen by the caller, unique in the hold. */
    readonly eventId: string;
    /** Undefined means all points that are still held. */
    readonly points: Points | undefined;
    readonly moreFollow: boolean;
  },
): Promise<HoldResult> {
  const { programId, userId, holdId, eventId, points, moreFollow, caller } = input;
  // Event ids are unique in a hold, so its id needs no place in the hash.
  const hash = requestHash("capture", caller, { points, moreFollow, ...annotationsOf(input) });
  const key = eventRef(programId, userId, eventName(captureEvent(holdId, eventId)));
  const decide = ({ hold: held, account: state, now: { wall }, tx }: FoundHold): HoldResult => {
    requireMayChange(held, input);
    const earlier = tx.get(key);
    if (earlier) return { hold: held, ...replayedResult(earlier, hash) };
    const change = putHold(tx, capture(state, held, { ...input, wall }, points, moreFollow));
    const { account, entry } = change;
    const availablePoints = availablePointsOf(account);
    const earlierPoints = held.capturedPoints;
    tx.put(key, { hash, entry, availablePoints, reversedPoints: 0, earlierPoints });
    return { hold: change.hold, entry, availablePoints, replayed: false };
  };
  const result = await changeHold(deps, input, decide, [key]);
  await refreshRun(deps, input, result.hold, !result.replayed);
  return result;
}

/**
 * Releases what is still held. A released hold stays as it is. Refusals: PROGRAM_NOT_FOUND,
 * HOLD_NOT_FOUND, WRONG_STATE when it was captured or has timed out, and `requireMayChange`'s.
 */
export async function releaseHold(deps: CommandDeps, input: HoldRequest): Promise<HoldResult> {
  const decide = ({ hold: held, account, now: { wall }, tx }: FoundHold): ChangedHold => {
    requireMayChange(held, input);
    if (held.state === "RELEASED") return { hold: held };
    return putHold(tx, release(account, held, { ...input, wall }));
  };
  const changed = await changeHold(deps, input, decide);
  await refreshRun(deps, input, changed.hold, changed.entry !== undefined);
  return resultOf(deps, changed, changed.hold.release as Release);
}

/**
 * Lets the run of a hold that was changed read its record. A repeated call does so again, because
 * the call to Temporal may have been lost with its process.
 */
async function refreshRun(
  deps: CommandDeps,
  { validateOnly }: HoldCall,
  hold: Hold,
  isChanged: boolean,
): Promise<void> {
  if (!validateOnly && (isChanged || hold.state !== "HELD")) {
    await syncInBackground(deps, hold);
  }
}

/** The result of a change; of a repeated call with the entry of the first one, which is read. */
async function resultOf(
  { reader }: Pick<Deps, "reader">,
  { hold: found, entry: own }: ChangedHold,
  { entryNumber, availablePoints }: Pick<Release, "entryNumber" | "availablePoints">,
): Promise<HoldResult> {
  const ref = entryRef(found.programId, found.userId, entryNumber);
  const entry = own ?? (await reader.get(ref))?.value;
  // The transaction of the first call is being applied, item by item.
  if (!entry) throw new DomainError("CONTENDED", "the first call is being committed; try again");
  return { hold: found, entry, availablePoints, replayed: own === undefined };
}
