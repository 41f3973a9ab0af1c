/** Retracts an event: out of its notification and of the links between its actor's events. */

import type { Instant } from "../../platform/words/month.ts";
import { type Event, type EventActor, type EventState, isOnlyOfActor, unlink } from "./event.ts";
import { replaceGroup, withReadChange } from "./inbox.ts";
import {
  type Ends,
  type Group,
  inboxCountsOf,
  leave,
  type ReadGroup,
  removeMember,
  versionOf,
} from "./unread-group.ts";

/** The records of an owner that change when an event is retracted. */
export interface RetractionState extends EventState {
  readonly actor: EventActor;
  /** The read group with the event, if it is in none that is unread. */
  readonly read: ReadGroup | undefined;
  /** The next event of the actor among the events of this name. */
  readonly next: Event | undefined;
}

/** Whether an event is in a group, which has all events from its first to its latest version. */
export const isWithin = (group: Group | undefined, version: number): group is Group =>
  group !== undefined && version >= group.generation && version <= versionOf(group);

/**
 * Retracts an event. `refill` has the members that its group shows in its place (`leave`).
 * The inbox gets its next version also when no unread group changes.
 */
export function retract(
  state: RetractionState,
  event: Event,
  now: Instant,
  refill: Partial<Ends> = {},
): EventState & Pick<RetractionState, "read" | "next"> {
  const { inbox, group, read, next } = state;
  const { version } = event;
  const links = unlink(event, state.actor, next);
  if (isWithin(group, version)) {
    const after = withActors(group, leave(group, event, now, refill), event, next);
    const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(after));
    return { ...links, inbox: nextInbox, group: after, read };
  }
  const nextInbox = read ? withReadChange(inbox) : { ...inbox, version: inbox.version + 1 };
  const after = read && withActors(read, removeMember(read, version, refill), event, next);
  return { ...links, inbox: nextInbox, group, read: after };
}

/** The group without the event: its actor stays for as long as another event of the actor does. */
function withActors<G extends Group>(
  before: G,
  after: G | undefined,
  event: Event,
  next: Event | undefined,
): G | undefined {
  const range = { from: before.generation, to: versionOf(before) };
  const leaves = isOnlyOfActor(event, next, range);
  return after && { ...after, actorCount: before.actorCount - (leaves ? 1 : 0) };
}
