/** The use cases that set and take back a reaction. */
import type { Inbox } from "../../domain/inbox.ts";
import { isEventKind, type ReactionKind } from "../../domain/kinds.ts";
import {
  type ReactionState,
  react as reactTo,
  unlessWithdrawn,
  withdraw,
} from "../../domain/reaction.ts";
import { countOf, requireUnreserved, type Target, type TargetName } from "../../domain/target.ts";
import { isPersonMuted } from "../notifications/muted-people.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import { Missing, type Transaction, type TransactionRequest } from "../ports/engine.ts";
import { mutedPersonRef } from "../ports/records.ts";
import { type UndeclaredKinds, withKinds } from "./known-kinds.ts";
import { putState, readState, refillOf, refsOf } from "./reaction-records.ts";

type ReactionDeps = Pick<Deps, "engine" | "reader" | "owners" | "unreadCounts" | "coolDownMs">;

/** Names one person's reaction of one kind to one target, with the deadline of the caller. */
export interface ReactionInput {
  readonly target: TargetName;
  readonly kind: ReactionKind;
  readonly userId: string;
  readonly deadline?: number | undefined;
}

interface ReactInput extends ReactionInput {
  readonly displayName: string;
  /** Whether it replaces the person's reactions of other kinds to the target. */
  readonly exclusive?: boolean;
  /** Whether the owner is not notified. */
  readonly suppressNotification?: boolean;
}

export interface ReactionResult {
  /** Whether the call changed anything. */
  readonly changed: boolean;
  /** The number of reactions of this kind after the call. */
  readonly reactionCount: number;
}

/** The result of a transaction, and the inbox if it has changed. */
type Changed = ReactionResult & { readonly inbox?: Inbox };

/**
 * Sets a reaction: writes it, its count, the unread group and the inbox by one transaction. An
 * active reaction stays as it is. An exclusive one takes back the person's other kinds in the same
 * transaction. Refusals: TARGET_NOT_FOUND, TARGET_DELETED, LIMIT_EXCEEDED for the seventeenth kind,
 * INVALID_REQUEST for the reserved type.
 */
export async function react(deps: ReactionDeps, input: ReactInput): Promise<ReactionResult> {
  requireUnreserved(input.target);
  const ownerId = await deps.owners.of(input.target);
  const changed = input.exclusive
    ? await withKinds(deps, input.target, (kinds, checkKinds) =>
        reactRequest(deps, ownerId, input, kinds, checkKinds),
      )
    : await deps.engine.transact(reactRequest(deps, ownerId, input));
  return publish(deps, ownerId, changed);
}

/** `kinds` are the other kinds that an exclusive reaction may have to take back. */
function reactRequest<U extends UndeclaredKinds = never>(
  deps: ReactionDeps,
  ownerId: string,
  { suppressNotification = false, ...input }: ReactInput,
  kinds: readonly string[] = [],
  checkKinds?: (target: Target) => U | undefined,
): TransactionRequest<Changed | U> {
  const { target, kind, userId, displayName, deadline } = input;
  const refs = refsOf(ownerId, input);
  const otherNames = kinds
    .filter((each) => each !== kind && !isEventKind(each))
    .map((each) => ({ target, kind: each, userId }));
  const otherRefs = otherNames.map((name) => refsOf(ownerId, name));
  return {
    key: refs.inbox,
    readSet: [
      refs.target,
      refs.inbox,
      refs.group,
      ...otherRefs.flatMap(({ group, reaction }) => [group, reaction]),
    ],
    // Probably absent, which saves their reads.
    expectAbsent: [refs.reaction, mutedPersonRef(ownerId, userId)],
    deadline,
    decide(tx, { wall }) {
      const first = readState(tx, refs);
      const undeclared = checkKinds?.(first.target);
      if (undeclared) return undeclared;
      for (const name of otherNames) {
        const taken = takeBack(tx, deps, ownerId, name, wall);
        if (taken instanceof Missing) return taken;
      }
      const before = readState(tx, refs);
      let after = before;
      if (!unlessWithdrawn(before.reaction)) {
        const isMuted = isPersonMuted(tx, ownerId, before.inbox, userId);
        const actor = { userId, displayName };
        after = reactTo(before, kind, {
          actor,
          now: wall,
          silent: suppressNotification || isMuted,
        });
        putState(tx, refs, before, after);
      }
      const reactionCount = countOf(after.target, kind);
      const changed = after.inbox !== first.inbox;
      return { changed, reactionCount, ...(changed && { inbox: after.inbox }) };
    },
  };
}

/**
 * Takes a reaction back. Changes nothing when there is none. Refusals: TARGET_NOT_FOUND,
 * TARGET_DELETED, INVALID_REQUEST for the reserved type.
 */
export async function unreact(deps: ReactionDeps, input: ReactionInput): Promise<ReactionResult> {
  requireUnreserved(input.target);
  const ownerId = await deps.owners.of(input.target);
  const refs = refsOf(ownerId, input);
  const changed = await deps.engine.transact({
    key: refs.inbox,
    readSet: [refs.target, refs.inbox, refs.group, refs.reaction],
    expectAbsent: [],
    deadline: input.deadline,
    decide(tx, { wall }): Changed | Missing {
      const after = takeBack(tx, deps, ownerId, input, wall);
      if (after instanceof Missing) return after;
      const { target, inbox } = after ?? readState(tx, refs);
      const reactionCount = countOf(target, input.kind);
      return { changed: after !== undefined, reactionCount, ...(after && { inbox }) };
    },
  });
  return publish(deps, ownerId, changed);
}

/** Takes a reaction back and returns the state after it. Undefined when there is none. */
function takeBack(
  tx: Transaction,
  { reader, coolDownMs }: Pick<ReactionDeps, "reader" | "coolDownMs">,
  ownerId: string,
  name: ReactionInput,
  now: Now["wall"],
): ReactionState | Missing | undefined {
  const refs = refsOf(ownerId, name);
  const before = readState(tx, refs);
  const reaction = unlessWithdrawn(before.reaction);
  if (!reaction) return undefined;
  const refill = refillOf(tx, reader, refs, before, reaction, now);
  if (refill instanceof Missing) return refill;
  const after = withdraw(before, reaction, { now, coolDownMs }, refill);
  putState(tx, refs, before, after);
  return after;
}

function publish(
  { unreadCounts }: ReactionDeps,
  ownerId: string,
  { inbox, ...result }: Changed,
): ReactionResult {
  if (inbox) unreadCounts.publish(ownerId, inbox);
  return result;
}
