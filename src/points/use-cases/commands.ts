/** The use cases that change an account, each once for each event id, in one transaction. */
import { fieldChanges } from "../../acts/rules/act.ts";
import { putAct } from "../../acts/use-cases/acts.ts";
import type { Call } from "../../platform/ports/call.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { type Annotations, annotationsOf } from "../../platform/words/annotations.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { requestHash, requireSameRequest } from "../../platform/work/idempotency.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef, eventRef } from "../ports/records.ts";
import { type Account, availablePointsOf } from "../rules/account.ts";
import { type EarlyExpiry, expiryParameters } from "../rules/early-expiry.ts";
import {
  type EntryType,
  type EventKey,
  type EventName,
  eventName,
  type LedgerEntry,
  type Origin,
} from "../rules/ledger.ts";
import { withSnapshot } from "../rules/past.ts";
import {
  type Change,
  type Event,
  type ExpiredPointsPolicy,
  extendExpiry,
  grant,
  revoke,
  type State,
  setFrozen,
  use,
} from "../rules/points.ts";
import { refund, spentByUse } from "../rules/refund.ts";

/** The dependencies of every change of an account. */
type ChangeDeps = Pick<Deps, "engine" | "programs">;

/** The input of every change of an account. */
export interface ChangeInput extends AccountName, Annotations, Call {
  /** Chosen by the caller, unique in the account for good. */
  readonly eventId: string;
}

/** The result of every change of an account. */
export interface ChangeResult {
  readonly entry: LedgerEntry;
  readonly availablePoints: number;
  /** True when an earlier call made the change; entry and points are then its result. */
  readonly replayed: boolean;
}

/**
 * Adds points to the current month, or to an earlier one with whose points they expire. Refusals:
 * ACCOUNT_FROZEN, LIMIT_EXCEEDED, ID_REUSED. Each change of an account also refuses with
 * PROGRAM_NOT_FOUND.
 */
export function grantPoints(
  deps: ChangeDeps,
  input: ChangeInput & Pick<EarlyExpiry, "expireMonth"> & { readonly points: Points },
): Promise<ChangeResult> {
  const { points, expireMonth } = input;
  return changeAccount(deps, {
    input,
    operation: "grant",
    parameters: { points, ...expiryParameters({ expireMonth }) },
    decide: (state, event) => grant(state, event, points, { expireMonth }),
  });
}

/**
 * Takes points, oldest month first. Refusals: INSUFFICIENT_POINTS with the available points,
 * ACCOUNT_FROZEN, ID_REUSED.
 */
export function usePoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly points: Points; readonly allowPartial: boolean },
): Promise<ChangeResult> {
  const { points, allowPartial } = input;
  return changeAccount(deps, {
    input,
    operation: "use",
    parameters: { points, allowPartial },
    decide: (state, event) => use(state, event, points, allowPartial),
  });
}

/** The points that a refund returns, of a use or of a capture of a hold. */
export interface RefundInput extends ChangeInput {
  /** Of the use, or with a hold of its capture. */
  readonly useEventId: string;
  /** Undefined means all points that were not refunded before. */
  readonly points: Points | undefined;
  readonly expiredPointsPolicy: ExpiredPointsPolicy;
}

/**
 * Returns the points of a use, or a part of them. Refusals: LEDGER_ENTRY_NOT_FOUND, WRONG_STATE
 * when the event is no use, LIMIT_EXCEEDED with the points that can be refunded, ACCOUNT_FROZEN,
 * ID_REUSED.
 */
export function refundUse(deps: ChangeDeps, input: RefundInput): Promise<ChangeResult> {
  const { useEventId, points, expiredPointsPolicy } = input;
  const used: EventName = { origin: "c", eventId: useEventId };
  return reverseEvent(deps, input, used, {
    operation: "refund",
    parameters: { useEventId, points, expired: expiredPointsPolicy },
    types: ["USED"],
    rule: (state, event, found) =>
      refund(state, event, spentByUse(found), points, expiredPointsPolicy),
  });
}

/**
 * Takes back the points of a grant, or of an extension, that its month still has. Refusals:
 * LEDGER_ENTRY_NOT_FOUND, WRONG_STATE when the event is neither, ID_REUSED.
 */
export function revokePoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly grant: EventName },
): Promise<ChangeResult> {
  const { grant: granted } = input;
  return reverseEvent(deps, input, granted, {
    operation: "revoke",
    parameters: { grant: eventName(granted) },
    types: grantTypes,
    rule: revoke,
  });
}

/**
 * Moves the points of a grant, or of an extension, that its month still has to a later month.
 * Refusals: LEDGER_ENTRY_NOT_FOUND, WRONG_STATE when the event is neither, LIMIT_EXCEEDED as
 * `extendExpiry`, ID_REUSED.
 */
export function extendPoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly grant: EventName; readonly expireMonth: Month },
): Promise<ChangeResult> {
  const { grant: granted, expireMonth } = input;
  return reverseEvent(deps, input, granted, {
    operation: "extend",
    parameters: { grant: eventName(granted), ...expiryParameters({ expireMonth }) },
    types: grantTypes,
    rule: (state, event, found) => extendExpiry(state, event, found, expireMonth),
  });
}

/** A change that takes points from an earlier event, which counts them in its key. */
interface Reversal {
  readonly operation: string;
  readonly parameters: Parameters<typeof changeAccount>[1]["parameters"];
  /** The types of entries that it may reverse. */
  readonly types: readonly EntryType[];
  readonly rule: (state: State, event: Event, reversed: EventKey) => Change;
}

function reverseEvent(
  deps: ChangeDeps,
  input: ChangeInput,
  reversed: EventName,
  { operation, parameters, types, rule }: Reversal,
): Promise<ChangeResult> {
  const ref = eventRef(input.programId, input.userId, eventName(reversed));
  return changeAccount(deps, {
    input,
    operation,
    parameters,
    reads: [ref],
    decide(state, event, tx) {
      const found = requireType(types, reversed, tx.get(ref));
      const change = rule(state, event, found);
      const reversedPoints = found.reversedPoints + change.entry.points;
      tx.put(ref, { ...found, reversedPoints });
      return change;
    },
  });
}

/**
 * Freezes an account, which refuses grants, uses, refunds, holds and captures from then on. Creates
 * an unknown account. Refusal: ID_REUSED.
 */
export function freezeAccount(deps: ChangeDeps, input: ChangeInput): Promise<ChangeResult> {
  return changeAccount(deps, {
    input,
    operation: "freeze",
    parameters: {},
    decide: (state, event) => setFrozen(state, event, true),
  });
}

/** Ends a freeze. Refusals: ACCOUNT_NOT_FOUND, ID_REUSED. */
export function unfreezeAccount(deps: ChangeDeps, input: ChangeInput): Promise<ChangeResult> {
  return changeAccount(deps, {
    input,
    operation: "unfreeze",
    parameters: {},
    decide: (state, event) => setFrozen(state, event, false),
  });
}

/** The entries that have put points into a month, which they still know as theirs. */
const grantTypes: readonly EntryType[] = ["ISSUED", "EXTENDED"];

/** Requires an event key whose entry has one of these types. */
function requireType(
  types: readonly EntryType[],
  event: EventName,
  found: EventKey | undefined,
): EventKey {
  if (!found) throw entryNotFound(textOf(event));
  if (!types.includes(found.entry.type)) {
    throw new DomainError("WRONG_STATE", `${textOf(event)} is ${found.entry.type}`, {
      type: found.entry.type,
    });
  }
  return found;
}

/**
 * Requires the key of an event to be that of a grant or an extension, which can be revoked.
 * Refusals: LEDGER_ENTRY_NOT_FOUND, WRONG_STATE.
 */
export const requireGrantKey = (event: EventName, found: EventKey | undefined): EventKey =>
  requireType(grantTypes, event, found);

/** The refusal LEDGER_ENTRY_NOT_FOUND. */
export const entryNotFound = (what: string): DomainError =>
  new DomainError("LEDGER_ENTRY_NOT_FOUND", `there is no ${what}`);

const nouns: Readonly<Record<Origin, string>> = {
  c: "event",
  r: "grant of the reservation",
  b: "grant of the bulk grant row",
  h: "grant of the hold",
  x: "grant of the expiry",
};

/** The event as messages name it: they have no stored names. */
const textOf = ({ origin, eventId }: EventName): string => `${nouns[origin]} ${eventId}`;

/** A change: what its request hash covers besides the input, and its decision. */
interface AccountChange {
  readonly input: ChangeInput;
  readonly operation: string;
  readonly parameters: Parameters<typeof requestHash>[2];
  /** The records that the decision reads besides the account. */
  readonly reads?: readonly Ref[];
  decide(state: State, event: Event, tx: Transaction): Change;
}

/**
 * Changes an account once for each event id: account, ledger entries and event keys are written by
 * one transaction. The hash of a request does not cover `validateOnly`: the answer to the id of an
 * earlier change is that change, replayed. Refusals: PROGRAM_NOT_FOUND, ID_REUSED, and those of
 * `decide`.
 */
export async function changeAccount(
  deps: ChangeDeps,
  { input, operation, parameters, reads = [], decide }: AccountChange,
): Promise<ChangeResult> {
  const { programId, userId, eventId, caller } = input;
  const annotations = annotationsOf(input);
  // Event ids are unique in an account, so the ids of program and user need no place in the hash.
  const hash = requestHash(operation, caller, { ...parameters, ...annotations });
  await deps.programs.get(programId);
  const event: EventName = { origin: "c", eventId };
  const account = accountRef(programId, userId);
  const eventKey = eventRef(programId, userId, eventName(event));
  return deps.engine.transact({
    key: account,
    readSet: [account, ...reads],
    expectAbsent: [eventKey],
    call: input,
    decide(tx, now): ChangeResult {
      const existing = tx.get(eventKey);
      if (existing) return replayedResult(existing, hash);
      const program = deps.programs.current(programId);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const change = decide(state, { event, ...annotations, caller }, tx);
      putAccountAct(tx, input, now.wall, state.account, change.account);
      return putChange(tx, eventKey, hash, change);
    },
  });
}

/** Puts the act of a freeze or its end; all else that changes an account is not audited. */
function putAccountAct(
  tx: Transaction,
  input: ChangeInput,
  now: Instant,
  before: Account | undefined,
  { frozen }: Account,
): void {
  if (!input.audit) return;
  const { programId, userId, reason } = input;
  const changes = fieldChanges({ frozen: before?.frozen ?? false }, { frozen });
  const object = { objectType: "account", objectId: userId, userId } as const;
  putAct(tx, input, now, { programId, ...object, changes, reason });
}

/** Puts all records of a change: the account, its entries and the event key. */
export function putChange(
  tx: Transaction,
  eventKey: Ref<"event">,
  hash: string,
  change: Change,
): ChangeResult {
  const { account, entries, entry } = change;
  const { programId, userId } = account;
  tx.put(accountRef(programId, userId), account);
  putEntries(tx, account, entries);
  const availablePoints = availablePointsOf(account);
  tx.put(eventKey, { hash, entry, availablePoints, reversedPoints: 0 });
  return { entry, availablePoints, replayed: false };
}

/** Puts the entries that have led to an account; one may get a snapshot (`withSnapshot`). */
export function putEntries(
  tx: Transaction,
  account: Account,
  entries: readonly LedgerEntry[],
): void {
  const { programId, userId } = account;
  const stored = withSnapshot(account, entries);
  for (const each of stored) tx.put(entryRef(programId, userId, each.number), each);
}

/** Returns the first result of an event. Throws ID_REUSED when its request was another one. */
export function replayedResult(existing: EventKey, hash: string): ChangeResult {
  const { entry, availablePoints } = existing;
  requireSameRequest(existing.hash, hash, "event_id", { number: String(entry.number) });
  return { entry, availablePoints, replayed: true };
}
