/** Writes comments with many likers into the tables directly, all of them unread. */

import { inboxRef, reactionRef, targetRef, unreadGroupRef } from "../../src/feed/ports/records.ts";
import { emptyInbox } from "../../src/feed/rules/inbox.ts";
import { defaultKind } from "../../src/feed/rules/kinds.ts";
import { type ReactionState, react } from "../../src/feed/rules/reaction.ts";
import { versionOf } from "../../src/feed/rules/unread-group.ts";
import { displayName, type Liked, register } from "./likes.ts";
import { type Seed, seed } from "./seed.ts";
import type { Stack } from "./stack.ts";

/** The id of a seeded liker. The like of liker `i` is version `i` of the inbox, from 1 on. */
const likerName = (i: number): string => `liker-${String(i).padStart(7, "0")}`;

/** The time between two likes: those of the last seconds are read one by one for a split. */
const apartMs = 1_000;

/**
 * Registers a comment of an owner without an inbox and writes so many likes of it, by the rules of
 * the domain. Returns the records after the last like.
 */
export async function seedLikers(
  stack: Stack,
  liked: Liked,
  likers: number,
): Promise<ReactionState> {
  const target = await register(stack, liked);
  const start = Date.now() - likers * apartMs;
  let state: ReactionState = { target, inbox: emptyInbox, group: undefined, reaction: undefined };
  const seeds: Seed[] = [];
  for (let i = 1; i <= likers; i++) {
    const actor = { userId: likerName(i), displayName };
    const given = { actor, now: start + i * apartMs, silent: false, coolDownMs: 0 };
    const after = react({ ...state, reaction: undefined }, defaultKind, given);
    const ref = reactionRef(target, defaultKind, actor.userId);
    seeds.push({ ref, value: after.reaction, version: after.reaction.version });
    state = after;
  }
  await seed(stack, seeds);
  await seed(stack, [
    { ref: targetRef(target), value: state.target, version: 1 + likers },
    ...inboxSeeds(liked.ownerId, state),
  ]);
  return state;
}

/** The inbox of an owner, with the one unread group of a comment. */
export function inboxSeeds(ownerId: string, { inbox, group, target }: ReactionState): Seed[] {
  if (!group) throw new Error("nothing is unread");
  return [
    { ref: inboxRef(ownerId), value: inbox, version: inbox.version },
    { ref: unreadGroupRef(ownerId, target, defaultKind), value: group, version: versionOf(group) },
  ];
}
