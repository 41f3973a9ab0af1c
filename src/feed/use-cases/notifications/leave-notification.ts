/** Takes a person out of one notification: the reaction, or all events of the person. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupRef,
  closedGroupsRef,
  inboxRef,
  notifiedEventRef,
  ownerOfGroup,
  reactionRef,
  readGroupRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import type { Event } from "../../rules/event.ts";
import { isWithin } from "../../rules/event-retraction.ts";
import { emptyInbox, type Inbox, replaceGroup, withReadChange } from "../../rules/inbox.ts";
import { activeReaction } from "../../rules/reaction.ts";
import type { Reaction } from "../../rules/target.ts";
import {
  inboxCountsOf,
  isMember,
  leave,
  type Member,
  type ReadGroup,
  removeMember,
  type UnreadGroup,
  versionOf,
} from "../../rules/unread-group.ts";
import { closedRefOf, putUnread, refOfGroup } from "./closed-groups.ts";
import {
  Outdated,
  planAgain,
  planRetraction,
  refsOfPlan,
  retractByPlan,
} from "./event-retraction.ts";
import type { ListedGroup } from "./group-pages.ts";
import { refillOf } from "./refill.ts";

type LeaveDeps = Pick<Deps, "engine" | "reader" | "unreadCounts">;

/** A person who leaves notifications of an owner. */
export interface Leaver extends CallLimits {
  readonly ownerId: string;
  readonly userId: string;
}

/** Whether a group was changed, and whether the person is out of it. */
interface Left {
  readonly changed: boolean;
  readonly isComplete: boolean;
}

/**
 * Takes a person out of a group of reactions, unread or read. The reaction stays, as one that has
 * notified nobody.
 */
export async function leaveReactions(
  deps: LeaveDeps,
  leaver: Leaver,
  { target, kind, generation }: ListedGroup,
): Promise<Left> {
  const { ownerId, userId } = leaver;
  const refs = {
    inbox: inboxRef(ownerId),
    open: unreadGroupRef(ownerId, target, kind),
    closed: closedGroupRef(ownerId, target, kind, generation),
    read: readGroupRef(ownerId, target, kind, generation),
    reaction: reactionRef(target, kind, userId),
  };
  const { closed: _, ...present } = refs;
  const { inbox } = await deps.engine.transact<{ inbox?: Inbox }>({
    key: refs.inbox,
    readSet: Object.values(present),
    expectAbsent: [refs.closed, closedGroupsRef(ownerId, target)],
    call: leaver,
    decide(tx, { wall }) {
      const reaction = activeReaction(tx.get(refs.reaction));
      const ref = closedRefOf(tx, { ownerId, target, kind, userId });
      const step = { tx, reader: deps.reader, refs, now: wall };
      const unread = tx.get(ref ?? refs.open);
      if (reaction && isMember(unread, reaction)) return leaveUnread(step, unread, reaction);
      const hasClosed = (tx.get(refs.inbox)?.closedCount ?? 0) > 0;
      const closed = hasClosed ? tx.get(refs.closed) : undefined;
      const version = closed && shownVersionOf(closed, userId);
      if (closed && version !== undefined) return leaveUnread(step, closed, { version });
      const read = tx.get(refs.read);
      return read ? leaveRead(step, read, userId, reaction) : {};
    },
  });
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  return { changed: inbox !== undefined, isComplete: true };
}

/** A decision about one group. */
interface Step {
  readonly tx: Transaction;
  readonly reader: Deps["reader"];
  readonly refs: {
    readonly inbox: ReturnType<typeof inboxRef>;
    readonly read: ReturnType<typeof readGroupRef>;
    readonly reaction: ReturnType<typeof reactionRef>;
  };
  readonly now: Instant;
}

/** Takes out of an unread group a reaction, or one that was unreacted since it was read. */
function leaveUnread(
  { tx, reader, refs, now }: Step,
  group: UnreadGroup,
  member: Reaction | Pick<Member, "version">,
) {
  const ref = refOfGroup(ownerOfGroup(refs.read), group);
  const refill = refillOf(tx, reader, { ref, group, now }, member.version);
  const remaining = leave(group, member, now, refill);
  const before = tx.get(refs.inbox) ?? emptyInbox;
  const inbox = replaceGroup(before, inboxCountsOf(group), inboxCountsOf(remaining));
  tx.put(refs.inbox, inbox);
  if ("userId" in member) tx.put(refs.reaction, { ...member, notified: false });
  putUnread(tx, ownerOfGroup(refs.read), group, remaining, inbox.version);
  return { inbox };
}

function leaveRead(
  { tx, reader, refs, now }: Step,
  group: ReadGroup,
  userId: string,
  reaction: Reaction | undefined,
) {
  const isInGroup = reaction?.notified && isWithin(group, reaction.version);
  const version = isInGroup ? reaction.version : shownVersionOf(group, userId);
  if (version === undefined) return {};
  const refill = refillOf(tx, reader, { ref: refs.read, group, now }, version);
  const remaining = removeMember(group, version, refill ?? {});
  if (remaining) tx.put(refs.read, remaining);
  else tx.delete(refs.read);
  if (isInGroup) tx.put(refs.reaction, { ...reaction, notified: false });
  const inbox = withReadChange(tx.get(refs.inbox) ?? emptyInbox);
  tx.put(refs.inbox, inbox);
  return { inbox };
}

/** The version of a person whom a group names, and who may have unreacted since. */
export const shownVersionOf = (group: ListedGroup, userId: string): number | undefined =>
  [...group.firstMembers, ...group.latestMembers].find((member) => member.userId === userId)
    ?.version;

/** Takes all events of a person out of a group of events, or those for which there is time. */
export async function retractEvents(
  deps: LeaveDeps,
  leaver: Leaver,
  { target, kind, generation, ...group }: ListedGroup,
  latest: number,
): Promise<Left> {
  const { ownerId, userId } = leaver;
  const name = { ownerId, target, kind };
  const last = versionOf({ target, kind, generation, ...group });
  let changed = false;
  let after = generation - 1;
  do {
    const event = await deps.reader.nextEvent(name, userId, after);
    if (!event || event.version > last) return { changed, isComplete: true };
    const isTaken = await retractOne(deps, leaver, { ...event, ...name });
    after = event.version;
    changed ||= isTaken;
  } while (performance.now() < latest);
  return { changed, isComplete: false };
}

/**
 * Retracts one event, as RetractEvent does, but as one that has notified nobody: it is not
 * retracted. Returns whether it was still there.
 */
async function retractOne(deps: LeaveDeps, leaver: Leaver, event: Event): Promise<boolean> {
  const { ownerId } = leaver;
  const key = notifiedEventRef(ownerId, event.service, event.eventId);
  const startTime = performance.now();
  for (;;) {
    const plan = await planRetraction(deps, event);
    if (!plan) return false;
    const inbox = await deps.engine.transact<Inbox | Outdated | undefined>({
      key: inboxRef(ownerId),
      readSet: [...refsOfPlan(plan), key],
      expectAbsent: [],
      call: leaver,
      decide(tx, { wall }) {
        const taken = retractByPlan(tx, deps, plan, wall);
        if (!taken || taken instanceof Outdated) return taken;
        const known = tx.get(key);
        // Its id may be used again by now, for another event.
        if (known?.version === event.version) tx.put(key, { ...known, version: 0 });
        return taken;
      },
    });
    if (!(inbox instanceof Outdated)) {
      if (inbox) deps.unreadCounts.publish(ownerId, inbox);
      return inbox !== undefined;
    }
    await planAgain(startTime);
  }
}
