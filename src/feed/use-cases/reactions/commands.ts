/** The use cases that set and remove a reaction, and the records that it changes. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Now } from "../../../platform/ports/clock.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import { maxDisplayNameBytes, readDisplayText } from "../../../platform/words/display-text.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Milliseconds } from "../../../platform/words/units.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupsRef,
  inboxRef,
  mutedPersonRef,
  ownerOfGroup,
  reactionRef,
  readMarkRef,
  targetRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import { emptyInbox, type Inbox } from "../../rules/inbox.ts";
import type { ReactionKind } from "../../rules/kinds.ts";
import {
  activeReaction,
  countOf,
  markOfClosed,
  positionOf,
  type ReactionState,
  react as reactTo,
  rename,
  requireActive,
  requireFewReplaced,
  requireUnreserved,
  unreact as unreactFrom,
} from "../../rules/reaction.ts";
import type { Position, Target } from "../../rules/target.ts";
import { isMember } from "../../rules/unread-group.ts";
import { closedRefOf, putUnread, regroupAfterOf } from "../notifications/closed-groups.ts";
import { isPersonMuted } from "../notifications/muted-people.ts";
import { refillOf } from "../notifications/refill.ts";

type ReactionDeps = Pick<Deps, "engine" | "reader" | "owners" | "unreadCounts" | "historyMs">;

/** Names one person's reaction of one kind to one target. */
export interface ReactionInput extends CallLimits {
  readonly target: TargetName;
  readonly kind: ReactionKind;
  readonly userId: string;
}

interface ReactInput extends ReactionInput {
  readonly displayName: string;
  /** Whether it replaces the person's reactions of other kinds to the target. */
  readonly exclusive?: boolean | undefined;
  /** Whether the owner is not notified. */
  readonly suppressNotification?: boolean | undefined;
  /** For so long after the owner has read a reaction of the person, this one does not notify. */
  readonly coolDownMs?: Milliseconds | undefined;
  /** An unread notification that began longer ago takes it in no more: another one begins. */
  readonly regroupAfterMs?: Milliseconds | undefined;
}

export interface ReactionResult {
  /** Whether the call changed anything. */
  readonly changed: boolean;
  /** The number of reactions of this kind after the call. */
  readonly reactionCount: number;
}

/** The result of a transaction, and the inbox if it has changed. */
type Changed = ReactionResult & { readonly inbox?: Inbox | undefined };

/**
 * Sets a reaction: writes it, its count, the unread group and the inbox by one transaction. An
 * active reaction only takes another name. An exclusive one removes the person's other kinds in
 * the same transaction. Refusals: TARGET_NOT_FOUND, TARGET_DELETED, LIMIT_EXCEEDED for the
 * 33rd kind and as `requireFewReplaced`, INVALID_REQUEST for the reserved type and as
 * `readDisplayText`.
 */
export async function react(deps: ReactionDeps, given: ReactInput): Promise<ReactionResult> {
  requireUnreserved(given.target);
  const displayName = readDisplayText(given.displayName, maxDisplayNameBytes, "display_name");
  const { suppressNotification = false, coolDownMs = 0, ...input } = given;
  const { target, kind, userId, regroupAfterMs } = input;
  const ownerId = await deps.owners.of(target);
  const refs = refsOf(ownerId, input);
  const changed = await deps.engine.transact<Changed>({
    key: refs.inbox,
    readSet: [refs.target, refs.inbox, refs.group],
    // Probably absent, which saves their reads.
    expectAbsent: [
      refs.reaction,
      refs.readMark,
      mutedPersonRef(ownerId, userId),
      closedGroupsRef(ownerId, target),
    ],
    call: input,
    decide(tx, { wall }) {
      const first = readState(tx, refs);
      const replaced = input.exclusive ? otherReactionsOf(tx, ownerId, first.target, input) : [];
      const readTimes = replaced.map((name) => {
        const taken = removeReaction(tx, deps, ownerId, name, wall);
        return taken?.reaction?.readTime ?? 0;
      });
      const { before, position } = readPosition(tx, refs, closedRefOf(tx, { ...input, ownerId }));
      const active = activeReaction(before.reaction);
      let after = before;
      if (active) {
        after = rename(before, active, { displayName, now: wall });
      } else {
        const isMuted = isPersonMuted(tx, ownerId, before.inbox, userId);
        after = reactTo(before, kind, {
          actor: { userId, displayName },
          now: wall,
          silent: suppressNotification || isMuted,
          coolDownMs,
          replacedReadTime: Math.max(0, ...readTimes),
          position,
          regroupAfterMs: regroupAfterOf(tx, ownerId, before.group, wall, regroupAfterMs),
        });
      }
      if (after !== before) putState(tx, refs, before, after, wall);
      const reactionCount = countOf(after.target, kind);
      const changed = after.inbox !== first.inbox;
      return { changed, reactionCount, inbox: changed ? after.inbox : undefined };
    },
  });
  return publish(deps, ownerId, changed);
}

/**
 * Names a person's reactions of the other kinds that a target has: first reads the reactions
 * together, then the records of the active ones. Refusal: LIMIT_EXCEEDED for more than
 * `maxReplaced`.
 */
function otherReactionsOf(
  tx: Transaction,
  ownerId: string,
  { counts }: Target,
  { target, kind, userId }: ReactionInput,
): readonly ReactionInput[] {
  // Sorted, so that a transaction changes them in one order: the maps of a store have none.
  const kinds = Object.keys(counts).sort();
  const names = kinds
    .filter((each) => each !== kind)
    .map((each) => ({ target, kind: each, userId }));
  const reactions = tx.getAll(names.map((name) => refsOf(ownerId, name).reaction));
  const active = names.filter((_, i) => activeReaction(reactions[i]));
  requireFewReplaced(active.length);
  tx.getAll(
    active.flatMap((name) => {
      const { group, readMark } = refsOf(ownerId, name);
      return [group, readMark];
    }),
  );
  return active;
}

/**
 * Removes a reaction. Changes nothing when there is none. Refusals: TARGET_NOT_FOUND,
 * TARGET_DELETED, INVALID_REQUEST for the reserved type.
 */
export async function unreact(deps: ReactionDeps, input: ReactionInput): Promise<ReactionResult> {
  requireUnreserved(input.target);
  const ownerId = await deps.owners.of(input.target);
  const refs = refsOf(ownerId, input);
  const changed = await deps.engine.transact<Changed>({
    key: refs.inbox,
    readSet: [refs.target, refs.inbox, refs.group, refs.reaction, refs.readMark],
    expectAbsent: [closedGroupsRef(ownerId, input.target)],
    call: input,
    decide(tx, { wall }) {
      const after = removeReaction(tx, deps, ownerId, input, wall);
      const { target, inbox } = after ?? readState(tx, refs);
      const reactionCount = countOf(target, input.kind);
      return { changed: after !== undefined, reactionCount, inbox: after && inbox };
    },
  });
  return publish(deps, ownerId, changed);
}

/** Removes a reaction and returns the state after it. Undefined when there is none. */
function removeReaction(
  tx: Transaction,
  { reader, historyMs }: Pick<ReactionDeps, "reader" | "historyMs">,
  ownerId: string,
  name: ReactionInput,
  now: Now["wall"],
): ReactionState | undefined {
  const open = refsOf(ownerId, name);
  const refs = { ...open, group: closedRefOf(tx, { ...name, ownerId }) ?? open.group };
  const before = readState(tx, refs);
  const reaction = activeReaction(before.reaction);
  if (!reaction) return undefined;
  const { group } = before;
  const isUnread = isMember(group, reaction);
  const refill = isUnread
    ? refillOf(tx, reader, { ref: refs.group, group, now }, reaction.version)
    : undefined;
  const isRead = reaction.notified && !isUnread;
  const readMark = isRead ? tx.get(refs.readMark) : undefined;
  const after = unreactFrom(before, reaction, { now, readMark, historyMs }, refill);
  putState(tx, refs, before, after, now);
  return after;
}

/** The refs of the records that one reaction changes. */
const refsOf = (ownerId: string, { target, kind, userId }: ReactionInput) => ({
  target: targetRef(target),
  inbox: inboxRef(ownerId),
  group: unreadGroupRef(ownerId, target, kind),
  reaction: reactionRef(target, kind, userId),
  readMark: readMarkRef(ownerId, target, kind),
});

type ReactionRefs = ReturnType<typeof refsOf>;

/** Reads the state before a reaction. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
const readState = (tx: Transaction, refs: ReactionRefs): ReactionState => ({
  target: requireActive(tx.get(refs.target)),
  inbox: tx.get(refs.inbox) ?? emptyInbox,
  group: tx.get(refs.group),
  reaction: tx.get(refs.reaction),
});

/**
 * The state before a person's next reaction, and the position to which it comes back: in the closed
 * group, or else in the open one.
 */
function readPosition(
  tx: Transaction,
  refs: ReactionRefs,
  closedRef: Ref<"unreadGroup"> | undefined,
): { readonly before: ReactionState; readonly position: Position | undefined } {
  if (closedRef) {
    const before = readState(tx, { ...refs, group: closedRef });
    const position = positionOf(before, () => undefined);
    if (position || activeReaction(before.reaction)) return { before, position };
  }
  const before = readState(tx, refs);
  return { before, position: positionOf(before, () => tx.get(refs.readMark)) };
}

/** Puts what differs between two states. New records begin with a version of the inbox. */
function putState(
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

function publish(
  { unreadCounts }: ReactionDeps,
  ownerId: string,
  { inbox, ...result }: Changed,
): ReactionResult {
  if (inbox) unreadCounts.publish(ownerId, inbox);
  return result;
}
