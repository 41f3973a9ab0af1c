import { DomainError } from "../../domain/errors.ts";
import { type EntryType, type EventKey, type EventRef, eventName } from "../../domain/ledger.ts";
import { type ExpiredPoints, grant, refund, revoke, setFrozen, use } from "../../domain/points.ts";
import { requestHash } from "../idempotency.ts";
import {
  type ChangeDeps,
  type ChangeInput,
  type ChangeResult,
  changeAccount,
} from "./change-account.ts";

/** Adds points to the current month. Refusals: ACCOUNT_FROZEN, LIMIT_EXCEEDED, ID_REUSED. */
export function grantPoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly points: number },
): Promise<ChangeResult> {
  const { points } = input;
  return changeAccount(deps, {
    input,
    hash: hashOf("grant", input, { points }),
    decide: (state, event) => grant(state, event, points),
  });
}

/**
 * Takes points, oldest month first. Refusals: INSUFFICIENT_POINTS with the balance,
 * ACCOUNT_FROZEN, ID_REUSED.
 */
export function usePoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly points: number; readonly allowPartial: boolean },
): Promise<ChangeResult> {
  const { points, allowPartial } = input;
  return changeAccount(deps, {
    input,
    hash: hashOf("use", input, { points, allowPartial }),
    decide: (state, event) => use(state, event, points, allowPartial),
  });
}

/**
 * Undoes a use, or part of it. Refusals: LEDGER_ENTRY_NOT_FOUND, WRONG_STATE when the event was no
 * use, LIMIT_EXCEEDED with what is left, ACCOUNT_FROZEN, ID_REUSED.
 */
export function refundPoints(
  deps: ChangeDeps,
  input: ChangeInput & {
    readonly useEventId: string;
    /** Absent: all that is left. */
    readonly points: number | undefined;
    readonly expiredPoints: ExpiredPoints;
  },
): Promise<ChangeResult> {
  const { useEventId, points, expiredPoints: expired } = input;
  const undoes: EventRef = { origin: "c", eventId: useEventId };
  return changeAccount(deps, {
    input,
    hash: hashOf("refund", input, { useEventId, points, expired }),
    undoes,
    decide: (state, event, used) =>
      refund(state, event, ofType("USED", undoes, used), points, expired),
  });
}

/**
 * Takes back what is left of a grant. Refusals: LEDGER_ENTRY_NOT_FOUND, WRONG_STATE when the event
 * was no grant, ID_REUSED.
 */
export function revokePoints(
  deps: ChangeDeps,
  input: ChangeInput & { readonly grant: EventRef },
): Promise<ChangeResult> {
  const { grant: undoes } = input;
  return changeAccount(deps, {
    input,
    hash: hashOf("revoke", input, { grant: eventName(undoes) }),
    undoes,
    decide: (state, event, granted) => revoke(state, event, ofType("ISSUED", undoes, granted)),
  });
}

/** Refuses grants, uses and refunds from now on. Creates an unknown account. */
export function freezeAccount(deps: ChangeDeps, input: ChangeInput): Promise<ChangeResult> {
  return changeAccount(deps, {
    input,
    hash: hashOf("freeze", input, {}),
    decide: (state, event) => setFrozen(state, event, true),
  });
}

/** Ends a freeze. Refusals: ACCOUNT_NOT_FOUND, ID_REUSED. */
export function unfreezeAccount(deps: ChangeDeps, input: ChangeInput): Promise<ChangeResult> {
  return changeAccount(deps, {
    input,
    hash: hashOf("unfreeze", input, {}),
    decide: (state, event) => setFrozen(state, event, false),
  });
}

/** Event ids are unique in an account, so program and user need not be hashed. */
function hashOf(
  operation: string,
  { caller, reason }: ChangeInput,
  parameters: Parameters<typeof requestHash>[2],
): string {
  return requestHash(operation, caller, { ...parameters, reason });
}

function ofType(type: EntryType, event: EventRef, found: EventKey | undefined): EventKey {
  if (!found) {
    throw new DomainError("LEDGER_ENTRY_NOT_FOUND", `there is no event ${eventName(event)}`);
  }
  if (found.entry.type !== type) {
    throw new DomainError("WRONG_STATE", `${eventName(event)} is ${found.entry.type}`, {
      type: found.entry.type,
    });
  }
  return found;
}
