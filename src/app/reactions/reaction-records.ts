/** The records that one reaction changes, read and put as one state. */
import { emptyInbox } from "../../domain/inbox.ts";
import type { ReactionState } from "../../domain/reaction.ts";
import { requireActive, type TargetName } from "../../domain/target.ts";
import type { MembersOf } from "../../domain/unread-group.ts";
import type { Transaction } from "../ports/engine.ts";
import { inboxRef, reactionRef, targetRef, unreadGroupRef } from "../ports/records.ts";

/** Names one person's reaction of one kind to one target. */
interface ReactionName {
  readonly target: TargetName;
  readonly kind: string;
  readonly userId: string;
}

/** The refs of the records that one reaction changes. */
export const refsOf = (ownerId: string, { target, kind, userId }: ReactionName) => ({
  target: targetRef(target),
  inbox: inboxRef(ownerId),
  group: unreadGroupRef(ownerId, target, kind),
  row: reactionRef(target, kind, userId),
});

type ReactionRefs = ReturnType<typeof refsOf>;

/** Reads the state before a reaction. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export const readState = (tx: Transaction, refs: ReactionRefs): ReactionState => ({
  target: requireActive(tx.get(refs.target)),
  inbox: tx.get(refs.inbox) ?? emptyInbox,
  group: tx.get(refs.group),
  row: tx.get(refs.row),
});

/** Puts what differs between two states. */
export function putState(
  tx: Transaction,
  refs: ReactionRefs,
  before: ReactionState,
  after: ReactionState,
): void {
  tx.put(refs.target, after.target);
  tx.put(refs.inbox, after.inbox);
  if (after.row) tx.put(refs.row, after.row);
  else if (before.row) tx.delete(refs.row);
  if (after.group === before.group) return;
  if (after.group) tx.put(refs.group, after.group);
  else tx.delete(refs.group);
}

/** Reads the members of the group of a reaction. */
export const membersOf =
  (tx: Transaction, refs: ReactionRefs, { target, kind }: ReactionName): MembersOf =>
  (range) =>
    tx.groupMembers({ target, kind, group: refs.group, range });
