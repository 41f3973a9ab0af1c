/** The use case that retracts an event from the owners who were notified of it. */

import { type Call, type CallLimits, requireTime } from "../../../platform/ports/call.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Deps } from "../../ports/deps.ts";
import { inboxRef, notifiedEventRef } from "../../ports/records.ts";
import type { Inbox } from "../../rules/inbox.ts";
import {
  nextInbox,
  Outdated,
  planAgain,
  planRetraction,
  refsOfPlan,
  retractByPlan,
} from "./event-retraction.ts";
import { forEachOwner } from "./many-owners.ts";
import { ownersOf } from "./notify.ts";

type RetractDeps = Pick<Deps, "engine" | "reader" | "unreadCounts" | "owners">;

interface RetractInput extends Call {
  readonly eventId: string;
  /** Whose owner was notified; required without `ownerIds`. */
  readonly target?: TargetName | undefined;
  readonly ownerIds?: readonly string[];
}

/** The result of a retraction for one owner. */
interface RetractResult {
  readonly ownerId: string;
  /** Whether the call changed anything. */
  readonly changed: boolean;
}

/**
 * Retracts an event of the calling service for owners, each by a transaction of its own: from the
 * unread or the read group that it is in. Refusals: EVENT_NOT_FOUND if the service has notified
 * none of the owners of it, TARGET_NOT_FOUND.
 */
export async function retractEvent(
  deps: RetractDeps,
  input: RetractInput,
): Promise<RetractResult[]> {
  const { eventId, target, ownerIds = [] } = input;
  const owners = await ownersOf(deps, target, ownerIds);
  const { service } = input.caller;
  const all = await forEachOwner(owners, (ownerId) =>
    retractFrom(deps, { ownerId, service, eventId }, input),
  );
  if (all.every((changed) => changed === undefined)) {
    throw new DomainError("EVENT_NOT_FOUND", "the service has reported no such event");
  }
  return owners.map((ownerId, i) => ({ ownerId, changed: all[i] ?? false }));
}

/** The result of a transaction, and the inbox if it has changed. */
interface Retraction {
  /** Undefined if there is no such event. */
  readonly changed: boolean | undefined;
  readonly inbox?: Inbox;
}

/** Retracts an event from one owner, and returns whether that changed anything. */
async function retractFrom(
  deps: RetractDeps,
  { ownerId, service, eventId }: Record<"ownerId" | "service" | "eventId", string>,
  call: CallLimits,
): Promise<boolean | undefined> {
  const key = notifiedEventRef(ownerId, service, eventId);
  const startTime = performance.now();
  for (;;) {
    requireTime(call);
    const known = (await deps.reader.get(key))?.value;
    if (!known) return undefined;
    const isNotified = known.version > 0 && !known.retracted;
    const plan = isNotified ? await planRetraction(deps, { ...known, ownerId }) : undefined;
    const result = await deps.engine.transact<Retraction | Outdated>({
      key: inboxRef(ownerId),
      readSet: [inboxRef(ownerId), key, ...(plan ? refsOfPlan(plan) : [])],
      expectAbsent: [],
      call,
      decide(tx, { wall }) {
        const current = tx.get(key);
        if (!current || current.expireTime <= wall) return { changed: undefined };
        if (current.retracted) return { changed: false };
        if (current.version !== known.version) return new Outdated();
        const taken = plan && retractByPlan(tx, deps, plan, wall);
        const inbox = taken ?? nextInbox(tx, inboxRef(ownerId));
        if (inbox instanceof Outdated) return inbox;
        tx.put(key, { ...current, retracted: true });
        return { changed: true, inbox };
      },
    });
    if (!(result instanceof Outdated)) {
      if (result.inbox) deps.unreadCounts.publish(ownerId, result.inbox);
      return result.changed;
    }
    await planAgain(startTime);
  }
}
