/** The records that the events of one name change, for one owner. */

import type { Transaction } from "../../../platform/ports/engine.ts";
import { eventActorRef, inboxRef, ownerOfGroup, unreadGroupRef } from "../../ports/records.ts";
import type { EventState, EventsName } from "../../rules/event.ts";
import { emptyInbox } from "../../rules/inbox.ts";
import { putUnread } from "./closed-groups.ts";

/** The refs of the records that an event of a person changes. */
export const eventRefsOf = (name: EventsName, userId: string) => ({
  inbox: inboxRef(name.ownerId),
  group: unreadGroupRef(name.ownerId, name.target, name.kind),
  actor: eventActorRef(name, userId),
});

type EventRefs = ReturnType<typeof eventRefsOf>;

export const readEventState = (tx: Transaction, refs: EventRefs): EventState => ({
  inbox: tx.get(refs.inbox) ?? emptyInbox,
  group: tx.get(refs.group),
  actor: tx.get(refs.actor),
});

/** Puts what differs between two states. New records begin with a version of the inbox. */
export function putEventState(
  tx: Transaction,
  refs: EventRefs,
  before: EventState,
  { inbox, group, actor, closed }: EventState,
): void {
  tx.put(refs.inbox, inbox);
  if (!actor) tx.delete(refs.actor);
  else if (actor !== before.actor) tx.put(refs.actor, actor, inbox.version);
  putUnread(tx, ownerOfGroup(refs.group), before.group, group, inbox.version);
  if (closed) putUnread(tx, ownerOfGroup(refs.group), undefined, closed, inbox.version);
}
