/** The part of the reactions oracle that reacts and unreacts. */
import { comeBack, comeIn, hears, takeOut } from "./reactions-oracle-members.ts";
import type { Answer, GroupName, RequestOf, TargetName } from "./reactions-requests.ts";
import {
  activeOf,
  type FormerReaction,
  having,
  isUnread,
  type Member,
  markOf,
  namedMembersOf,
  type Rules,
  type State,
  type StoredReaction,
  shorten,
  stateOf,
  type TargetState,
  takeVersion,
} from "./reactions-state.ts";

const mostKinds = 32;

/** An exclusive reaction replaces at most this many others. */
const mostReplaced = 20;

/** For so long it matters that a reaction which was taken back had been read, in ms. */
const keptMs = 30 * 24 * 3_600_000;

/** The reaction of a person. */
export const reactionOf = (
  state: State,
  { target, kind }: GroupName,
  userId: string,
): StoredReaction | undefined =>
  stateOf(state, target)?.records[kind]?.find((each) => each.userId === userId);

/** The kinds with which a person reacts. */
export function kindsOf(state: State, target: TargetName, userId: string): string[] {
  const records = Object.entries(stateOf(state, target)?.records ?? {});
  return records
    .filter(([, of]) => of.some((record) => record.userId === userId))
    .map(([kind]) => kind);
}

export function react(
  state: State,
  rules: Rules,
  request: RequestOf<"react">,
  now: number,
): Answer {
  const { target, kind, userId, exclusive } = request;
  const found = activeOf(state, target);
  if ("refused" in found) return found;
  const own = kindsOf(state, target, userId);
  const replaced = exclusive ? own.filter((each) => each !== kind).sort() : [];
  if (replaced.length > mostReplaced) return { refused: "LIMIT_EXCEEDED" };
  const isNew = !own.includes(kind);
  const { records, former } = found;
  const ended = replaced.filter((each) => records[each]?.length === 1).length;
  const kindCount = Object.keys(records).length - ended;
  if (isNew && !records[kind] && kindCount >= mostKinds) return { refused: "LIMIT_EXCEEDED" };
  for (const each of replaced) removeReaction(state, { target, kind: each, userId }, now);
  if (isNew) {
    // The owner has read another reaction of this person, in whose place the new one comes.
    const known = former[`${kind} ${userId}`];
    const times = [...replaced, kind].flatMap(
      (each) => former[`${each} ${userId}`]?.readTime ?? [],
    );
    const readTime = times.length > 0 ? Math.max(...times) : undefined;
    add(state, rules, request, { ...known, readTime }, now);
  }
  const isRenamed = !isNew && rename(state, request);
  return {
    changed: isNew || isRenamed || replaced.length > 0,
    reactionCount: records[kind]?.length as number,
  };
}

export function unreact(state: State, request: RequestOf<"unreact">, now: number): Answer {
  const { target, kind, userId } = request;
  const found = activeOf(state, target);
  if ("refused" in found) return found;
  const changed = kindsOf(state, target, userId).includes(kind);
  if (changed) removeReaction(state, request, now);
  return { changed, reactionCount: found.records[kind]?.length ?? 0 };
}

/**
 * Gives a reaction another name, also in its notification, unless that is read and shows the other
 * one. Whom it does not show yet is shown by the name of today when somebody leaves.
 */
function rename(state: State, request: RequestOf<"react">): boolean {
  const { target, kind, userId } = request;
  const { records } = stateOf(state, target) as TargetState;
  const displayName = shorten(request.displayName);
  const record = reactionOf(state, request, userId);
  if (!record || record.displayName === displayName) return false;
  const renamed = <M extends Member>(all: readonly M[] = []): M[] =>
    all.map((each) => (each.version === record.version ? { ...each, displayName } : each));
  records[kind] = renamed(records[kind]);
  const found = having(state, { target, kind }, record.version);
  const isIn = found !== undefined && isUnread(found);
  takeVersion(state, isIn);
  if (!found) return true;
  const kept: readonly Member[] = isIn ? [] : namedMembersOf(found);
  found.members = found.members.flatMap((each) => (kept.includes(each) ? each : renamed([each])));
  return true;
}

/** Adds a reaction, also to a notification unless something keeps the owner out. */
function add(
  state: State,
  rules: Rules,
  request: RequestOf<"react">,
  { position, readTime }: FormerReaction,
  now: number,
): void {
  const { target, kind, userId, silent, coolDownMs = 0 } = request;
  const { records, former } = stateOf(state, target) as TargetState;
  delete former[`${kind} ${userId}`];
  const isQuiet = coolDownMs > 0 && readTime !== undefined && readTime + coolDownMs > now;
  const notified = !silent && !isQuiet && hears(state, rules, request);
  takeVersion(state, notified);
  const displayName = shorten(request.displayName);
  const member = { userId, displayName, version: state.version, time: now };
  const isBack = notified && position !== undefined && comeBack(state, request, member, position);
  if (notified && !isBack) comeIn(state, request, member, request.regroupAfterMs);
  const version = isBack ? position.version : member.version;
  const record: StoredReaction = { ...member, version, notified, readTime };
  const all = [...(records[kind] ?? []), record];
  records[kind] = all.sort((a, b) => a.version - b.version);
}

/** Removes a reaction, and its member from the unread notification. */
function removeReaction(
  state: State,
  { target, kind, userId }: GroupName & { readonly userId: string },
  now: number,
): void {
  const group = { target, kind };
  const { records, former } = stateOf(state, target) as TargetState;
  const all = records[kind] ?? [];
  const record = all.find((each) => each.userId === userId) as StoredReaction;
  const { version, notified } = record;
  if (all.length > 1) records[kind] = all.filter((each) => each !== record);
  else delete records[kind];
  const found = having(state, group, version);
  const isIn = found !== undefined && isUnread(found);
  takeVersion(state, isIn);
  const generation = found?.state === "open" ? found.generation : undefined;
  if (isIn) takeOut(state, found, version);
  if (isIn) {
    former[`${kind} ${userId}`] = { position: { version, generation }, readTime: record.readTime };
    return;
  }
  const readTime = notified ? markOf(state, group).readTime : record.readTime;
  const isKept = readTime !== undefined && readTime + keptMs > now;
  former[`${kind} ${userId}`] = { readTime: isKept ? readTime : undefined };
}
