/** The use cases that change an account. */

import { holdRef } from "../../holds/ports/records.ts";
import { holdNotFound } from "../../holds/use-cases/change-hold.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Month } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { type EarlyExpiry, expiryParameters } from "../rules/early-expiry.ts";
import {
  type EntryType,
  type EventKey,
  type EventName,
  eventName,
  type Origin,
} from "../rules/ledger.ts";
import {
  type ExpiredPointsPolicy,
  extendExpiry,
  grant,
  revoke,
  setFrozen,
  use,
} from "../rules/points.ts";
import { refund, spentByCapture, spentByUse, withRefund } from "../rules/refund.ts";
import {
  type ChangeDeps,
  type ChangeInput,
  type ChangeResult,
  changeAccount,
  reversedEvent,
} from "./change-account.ts";

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

/**
 * Returns the points of a use or of a capture of a hold, or a part of them. Refusals:
 * LEDGER_ENTRY_NOT_FOUND, HOLD_NOT_FOUND, WRONG_STATE when the event is no use, LIMIT_EXCEEDED with
 * the points that can be refunded, ACCOUNT_FROZEN, ID_REUSED.
 */
export function refundPoints(
  deps: ChangeDeps,
  input: ChangeInput & {
    /** Of the use, or with a hold of its capture. */
    readonly useEventId: string;
    readonly holdId?: string | undefined;
    /** Undefined means all points that were not refunded before. */
    readonly points: Points | undefined;
    readonly expiredPointsPolicy: ExpiredPointsPolicy;
  },
): Promise<ChangeResult> {
  const { useEventId, holdId, points, expiredPointsPolicy } = input;
  const parameters = { useEventId, holdId, points, expired: expiredPointsPolicy };
  const shared = { input, operation: "refund", parameters };
  if (holdId !== undefined) {
    const { programId, userId } = input;
    return changeAccount<"hold">(deps, {
      ...shared,
      reversed: {
        ref: holdRef({ programId, holdId }),
        count: (hold, refunded) => withRefund(hold, useEventId, refunded),
      },
      decide(state, event, hold) {
        if (hold?.userId !== userId) throw holdNotFound(holdId);
        const spent = spentByCapture(hold, useEventId);
        if (!spent) throw entryNotFound(`capture ${useEventId} of the hold ${holdId}`);
        return refund(state, event, spent, points, expiredPointsPolicy);
      },
    });
  }
  const used: EventName = { origin: "c", eventId: useEventId };
  return changeAccount(deps, {
    ...shared,
    reversed: reversedEvent(input, used),
    decide(state, event, found) {
      const spent = spentByUse(requireType(["USED"], used, found));
      return refund(state, event, spent, points, expiredPointsPolicy);
    },
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
  return changeAccount(deps, {
    input,
    operation: "revoke",
    parameters: { grant: eventName(granted) },
    reversed: reversedEvent(input, granted),
    decide: (state, event, found) => revoke(state, event, requireType(grantTypes, granted, found)),
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
  return changeAccount(deps, {
    input,
    operation: "extend",
    parameters: { grant: eventName(granted), ...expiryParameters({ expireMonth }) },
    reversed: reversedEvent(input, granted),
    decide: (state, event, found) =>
      extendExpiry(state, event, requireType(grantTypes, granted, found), expireMonth),
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

const entryNotFound = (what: string): DomainError =>
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
