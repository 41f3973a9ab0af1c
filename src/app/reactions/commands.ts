/** The use cases that set and take back a reaction. */
import { emptyInbox, type Inbox } from "../../domain/notification.ts";
import { type ReactionState, react as reactTo, withdraw } from "../../domain/reaction.ts";
import { countOf, requireActive, type TargetName } from "../../domain/target.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import type { Transaction } from "../ports/engine.ts";
import { inboxRef, reactionRef, targetRef, unreadGroupRef } from "../ports/records.ts";

type ReactionDeps = Pick<Deps, "engine" | "owners" | "unreadCounts">;

/** Names one person's reaction of one kind to one target, with the deadline of the caller. */
export interface ReactionInput {
  readonly target: TargetName;
  readonly kind: string;
  readonly userId: string;
  readonly deadline?: number | undefined;
}

export interface ReactionResult {
  /** Whether the call changed anything. */
  readonly changed: boolean;
  /** The number of reactions of this kind after the call. */
  readonly reactionCount: number;
}

/**
 * Sets a reaction: writes row, counts, unread group and inbox by one transaction. Changes nothing
 * when the reaction is active. Refusals: TARGET_NOT_FOUND, TARGET_DELETED, LIMIT_EXCEEDED for the
 * seventeenth kind.
 */
export function react(
  deps: ReactionDeps,
  input: ReactionInput & { readonly actorName: string },
): Promise<ReactionResult> {
  const { kind, userId, actorName } = input;
  return changeReaction(deps, input, "expectAbsent", (state, { wall }) =>
    state.row ? undefined : reactTo(state, kind, { userId, actorName }, wall),
  );
}

/**
 * Takes a reaction back. Changes nothing when there is none. Refusals: TARGET_NOT_FOUND,
 * TARGET_DELETED.
 */
export function unreact(deps: ReactionDeps, input: ReactionInput): Promise<ReactionResult> {
  const { target, kind } = input;
  return changeReaction(deps, input, "readSet", (state, _, tx) =>
    state.row
      ? withdraw(state, state.row, (range) => tx.groupMembers({ target, kind, ...range }))
      : undefined,
  );
}

/**
 * Changes a reaction and all records that depend on it, unless `decide` returns undefined. A row
 * that probably exists belongs to the read set. One that probably does not is expected to be
 * absent, which saves its read.
 */
async function changeReaction(
  deps: ReactionDeps,
  { target, kind, userId, deadline }: ReactionInput,
  rowIn: "readSet" | "expectAbsent",
  decide: (state: ReactionState, now: Now, tx: Transaction) => ReactionState | undefined,
): Promise<ReactionResult> {
  const ownerId = await deps.owners.of(target);
  const refs = {
    target: targetRef(target),
    inbox: inboxRef(ownerId),
    group: unreadGroupRef(ownerId, target, kind),
    row: reactionRef(target, kind, userId),
  };
  const always = [refs.target, refs.inbox, refs.group];
  const { inbox, ...result } = await deps.engine.transact({
    key: refs.inbox,
    readSet: rowIn === "readSet" ? [...always, refs.row] : always,
    expectAbsent: rowIn === "expectAbsent" ? [refs.row] : [],
    deadline,
    decide(tx, now): ReactionResult & { inbox?: Inbox } {
      const before = {
        target: requireActive(tx.get(refs.target)),
        inbox: tx.get(refs.inbox) ?? emptyInbox,
        group: tx.get(refs.group),
        row: tx.get(refs.row),
      };
      const after = decide(before, now, tx);
      if (!after) return { changed: false, reactionCount: countOf(before.target, kind) };
      tx.put(refs.target, after.target);
      tx.put(refs.inbox, after.inbox);
      if (after.row) tx.put(refs.row, after.row);
      else tx.delete(refs.row);
      if (!after.group && before.group) tx.delete(refs.group);
      else if (after.group && after.group !== before.group) tx.put(refs.group, after.group);
      return { changed: true, reactionCount: countOf(after.target, kind), inbox: after.inbox };
    },
  });
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  return result;
}
