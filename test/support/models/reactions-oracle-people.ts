/** The part of the reactions oracle that mutes and blocks people. */
import { takeOut } from "./reactions-oracle-members.ts";
import { type Answer, isEvents, type RequestOf } from "./reactions-requests.ts";
import {
  badgeOf,
  isUnread,
  type Member,
  type Notification,
  namedMembersOf,
  recordOf,
  type State,
  stateOf,
  takeVersion,
} from "./reactions-state.ts";

export function mutePerson(
  state: State,
  { userId, muted }: Omit<RequestOf<"mutePerson">, "op">,
): boolean {
  const others = state.mutedPeople.filter((each) => each !== userId);
  const changed = muted === (others.length === state.mutedPeople.length);
  state.mutedPeople = muted ? [...others, userId] : others;
  return changed;
}

/** Mutes a person and takes the person out of all notifications. */
export function blockPerson(state: State, { userId }: RequestOf<"block">): Answer {
  let changed = mutePerson(state, { userId, muted: true });
  for (const each of state.notifications) {
    for (const member of each.members.filter((one) => one.userId === userId)) {
      if (!isFound(state, each, member)) continue;
      takeOut(state, each, member.version);
      takeVersion(state, true);
      silence(state, each, member);
      changed = true;
    }
  }
  return { changed, badge: badgeOf(state) };
}

/**
 * Whoever is neither shown nor reacts any more only counts in a read notification. Events about
 * a deleted target are in notifications that nobody lists, until a purge deletes their records.
 */
function isFound(state: State, notification: Notification, member: Member): boolean {
  const { kind, target } = notification;
  if (isUnread(notification) && !notification.again) return true;
  if (isEvents(kind)) return !stateOf(state, target)?.deleted;
  const isShown = namedMembersOf(notification).includes(member);
  return isShown || recordOf(state, notification, member) !== undefined;
}

/** The reaction stays, as one that has notified nobody. */
function silence(state: State, notification: Notification, member: Member): void {
  const record = recordOf(state, notification, member);
  if (record) Object.assign(record, { notified: false });
}
