/** The records that one reaction changes, read and put as one state. */

import type { Now } from "../../../platform/ports/clock.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import {
  inboxRef,
  ownerOfGroup,
  reactionRef,
  readMarkRef,
  targetRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import { emptyInbox } from "../../rules/inbox.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import {
  markOfClosed,
  positionOf,
  type ReactionState,
  unlessWithdrawn,
} from "../../rules/reaction.ts";
import { type Position, requireActive } from "../../rules/target.ts";
import { putUnread } from "../notifications/closed-groups.ts";

/** Names one person's reaction, or event, of one kind about one target. */
interface ReactionName {
  readonly target: TargetName;
  readonly kind: StoredKind;
  readonly userId: string;
}

/** The refs of the records that one reaction changes. */
export const refsOf = (ownerId: string, { target, kind, userId }: ReactionName) => ({
  target: targetRef(target),
  inbox: inboxRef(ownerId),
  group: unreadGroupRef(ownerId, target, kind),
  reaction: reactionRef(target, kind, userId),
  readMark: readMarkRef(ownerId, target, kind),
});

type ReactionRefs = ReturnType<typeof refsOf>;

/** Reads the state before a reaction. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export const readState = (tx: Transaction, refs: ReactionRefs): ReactionState => ({
  target: requireActive(tx.get(refs.target)),
  inbox: tx.get(refs.inbox) ?? emptyInbox,
  group: tx.get(refs.group),
  reaction: tx.get(refs.reaction),
});

/**
 * The state before a person's next reaction, and the place to which it comes back: in the closed
 * group, or else in the open one.
 */
export function readPosition(
  tx: Transaction,
  refs: ReactionRefs,
  closedRef: Ref<"unreadGroup"> | undefined,
): { readonly before: ReactionState; readonly place: Position | undefined } {
  if (closedRef) {
    const before = readState(tx, { ...refs, group: closedRef });
    const place = positionOf(before, () => undefined);
    if (place || unlessWithdrawn(before.reaction)) return { before, place };
  }
  const before = readState(tx, refs);
  return { before, place: positionOf(before, () => tx.get(refs.readMark)) };
}

/** Puts what differs between two states. New records begin with a version of the inbox. */
export function putState(
  tx: Transaction,
  refs: ReactionRefs,
  before: ReactionState,
  after: ReactionState,
  now: Now["wall"],
): void {
  tx.put(refs.target, after.target);
  tx.put(refs.inbox, after.inbox);
  const { version } = after.inbox;
  if (after.reaction) tx.put(refs.reaction, after.reaction, version);
  else if (before.reaction) tx.delete(refs.reaction);
  const ownerId = ownerOfGroup(refs.group);
  putUnread(tx, ownerId, before.group, after.group, version);
  if (!after.closed) return;
  putUnread(tx, ownerId, undefined, after.closed, version);
  const mark = markOfClosed(tx.get(refs.readMark), after.closed, now);
  tx.put(refs.readMark, mark, version);
}
