/** Takes one event out of an owner's records: what has to be read for it, and the decision. */
import { setTimeout as sleep } from "node:timers/promises";
import { appliedMs, patienceMs, type Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupRef,
  closedGroupsRef,
  inboxRef,
  notificationEventRef,
  readGroupRef,
  targetRef,
} from "../../ports/records.ts";
import { closedAt } from "../../rules/closed-group.ts";
import type { Event, EventActor, EventsName } from "../../rules/event.ts";
import { isWithin, type RetractionState, retract } from "../../rules/event-retraction.ts";
import { emptyInbox, type Inbox } from "../../rules/inbox.ts";
import { closedRefAt } from "./closed-groups.ts";
import { eventRefsOf, putEventState, readEventState } from "./event-records.ts";
import { refillOf } from "./refill.ts";

/** Reads an event by its version, because the record of its id does not name the actor. */
export async function eventAt(
  { reader }: Pick<Deps, "reader">,
  { version, ...name }: StoredEventName,
): Promise<Event | undefined> {
  const range = { from: version, to: version };
  const { items } = await reader.events(name, range, { size: 1, cursor: undefined });
  return items[0];
}

/** Names one event of which an owner was notified. */
interface StoredEventName extends EventsName {
  readonly version: number;
}

/** The records that change when an event is retracted, as plain reads have found them. */
interface Plan {
  readonly name: StoredEventName;
  /** As its group the closed one with the event, if it is in one, or else the open one. */
  readonly refs: ReturnType<typeof eventRefsOf>;
  /** The list of the closed groups about the target, if the owner has any. */
  readonly closedGroups?: Ref<"closedGroups"> | undefined;
  readonly event: Ref<"notificationEvent">;
  /** The next event of the actor, if there is one. */
  readonly next?: Ref<"notificationEvent"> | undefined;
  /** The read group with the event, if it is in one. */
  readonly read?: Ref<"readGroup"> | undefined;
  /** Whether the event is in no group: it was dismissed, or has expired. */
  readonly isInNone: boolean;
}

/** Returned by a decision whose plan does not have all records: other calls have changed them. */
export class Outdated {}

/** How long a call waits before it plans again, in ms: a transaction is applied meanwhile. */
const planAgainMs = 20;

/**
 * Waits until a call may plan again. Throws CONTENDED when it has done so since `startTime` for as
 * long as the engine is patient: the records may be damaged, and never agree.
 */
export async function planAgain(startTime: number): Promise<void> {
  if (performance.now() - startTime >= patienceMs) {
    throw new DomainError("CONTENDED", "the records of the event do not agree; try again");
  }
  await sleep(planAgainMs);
}

/**
 * Plans to retract an event. Undefined if it is gone, as all events about a deleted target. Plain
 * reads may see half of a transaction, so the decision compares what the plan has found. They may
 * not see an event or a read group that is being written, so an event that seems to be gone or in
 * no group is looked for again when every transaction is applied.
 */
export async function planRetraction(
  { reader }: Pick<Deps, "reader">,
  name: StoredEventName,
  isSecondLook = false,
): Promise<Plan | undefined> {
  const { ownerId, target, kind, version } = name;
  const [about, inbox, event] = await Promise.all([
    reader.get(targetRef(target)),
    reader.get(inboxRef(ownerId)),
    eventAt({ reader }, name),
  ]);
  if (about?.value.deleteTime !== undefined) return undefined;
  const lookAgain = async () => {
    await sleep(appliedMs);
    return planRetraction({ reader }, name, true);
  };
  if (!event) return isSecondLook ? undefined : lookAgain();
  const { userId } = event;
  const open = eventRefsOf(name, userId);
  const hasClosed = inbox !== undefined && inbox.value.closedCount > 0;
  const closedGroups = hasClosed ? closedGroupsRef(ownerId, target) : undefined;
  const ranges = closedGroups && (await reader.get(closedGroups))?.value.ranges;
  const closed = closedAt(ranges ?? [], kind, version);
  const refs = closed
    ? { ...open, group: closedGroupRef(ownerId, target, kind, closed.generation) }
    : open;
  const [group, actor] = await Promise.all([reader.get(refs.group), reader.get(refs.actor)]);
  const hasNext = actor !== undefined && actor.value.latestVersion > version;
  const isUnread = isWithin(group?.value, version);
  const [next, read] = await Promise.all([
    hasNext ? reader.nextEvent(name, userId, version) : undefined,
    isUnread ? undefined : reader.readGroupFrom(name, version),
  ]);
  const isRead = isWithin(read, version);
  const isInNone = !isUnread && !isRead;
  if (isInNone && !isSecondLook) return lookAgain();
  return {
    name,
    refs,
    closedGroups,
    event: notificationEventRef(name, userId, version),
    next: next && notificationEventRef(name, userId, next.version),
    read: isRead ? readGroupRef(ownerId, target, kind, read.generation) : undefined,
    isInNone,
  };
}

/** All records that a decision by the plan reads. */
export const refsOfPlan = ({ refs, closedGroups, event, next, read }: Plan): Ref[] => [
  ...Object.values(refs),
  ...(closedGroups ? [closedGroups] : []),
  event,
  ...(next ? [next] : []),
  ...(read ? [read] : []),
];

/** Retracts an event by its plan. Returns the inbox after it; undefined if the event is gone. */
export function retractByPlan(
  tx: Transaction,
  { reader }: Pick<Deps, "reader">,
  plan: Plan,
  now: Instant,
): Inbox | Outdated | undefined {
  const found = readPlanned(tx, plan);
  if (!found || found instanceof Outdated) return found;
  const { event, state } = found;
  const { version } = event;
  const { group, read } = state;
  const seen = isWithin(group, version)
    ? { ref: plan.refs.group, group, now }
    : plan.read && read && { ref: plan.read, group: read, now };
  const refill = seen && refillOf(tx, reader, seen, version);
  const after = retract(state, event, now, refill);
  putEventState(tx, plan.refs, state, after);
  tx.delete(plan.event);
  if (plan.next && after.next) tx.put(plan.next, after.next);
  if (plan.read && after.read) tx.put(plan.read, after.read);
  else if (plan.read) tx.delete(plan.read);
  return after.inbox;
}

/** Gives the inbox its next version, where nothing else changes. */
export function nextInbox(tx: Transaction, ref: Ref<"inbox">): Inbox {
  const inbox = tx.get(ref) ?? emptyInbox;
  const after = { ...inbox, version: inbox.version + 1 };
  tx.put(ref, after);
  return after;
}

/** The records of a plan, which agree with each other. */
interface Planned {
  readonly event: Event;
  readonly state: RetractionState;
}

/** The records of a plan, if they agree with each other. Undefined if the event is gone. */
function readPlanned(tx: Transaction, plan: Plan): Planned | Outdated | undefined {
  const event = tx.get(plan.event);
  if (!event) return undefined;
  const { actor, ...records } = readEventState(tx, plan.refs);
  if (!actor || !hasRightGroup(tx, plan, records)) return new Outdated();
  const next = nextOf(tx, plan, event, actor);
  const isUnread = isWithin(records.group, event.version);
  const read = plan.read && !isUnread ? tx.get(plan.read) : undefined;
  const isFound = isUnread || isWithin(read, event.version) || plan.isInNone;
  if (next instanceof Outdated || !isFound) return new Outdated();
  return { event, state: { ...records, actor, next, read } };
}

/** Whether the closed group of a plan is the one with the event, if any is. */
function hasRightGroup(
  tx: Transaction,
  { name, refs, closedGroups }: Plan,
  { inbox }: Pick<RetractionState, "inbox">,
): boolean {
  if (inbox.closedCount === 0) return true;
  if (!closedGroups) return false;
  const closed = closedRefAt(tx, name, name.version);
  return closed === undefined || closed.id === refs.group.id;
}

/** The next event of the actor, which the link shows to be the next one. */
function nextOf(
  tx: Transaction,
  plan: Plan,
  { version }: Event,
  { latestVersion }: EventActor,
): Event | Outdated | undefined {
  if (latestVersion === version) return undefined;
  const next = plan.next && tx.get(plan.next);
  return next?.previousVersion === version ? next : new Outdated();
}
