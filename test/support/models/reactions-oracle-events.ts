/** The part of the reactions oracle that notifies owners of events and takes events back. */
import { comeIn, hears, takeOut } from "./reactions-oracle-members.ts";
import { type Answer, isSame, noTarget, type RequestOf } from "./reactions-requests.ts";
import {
  activeOf,
  having,
  isUnread,
  type ReportedEvent,
  type Rules,
  type State,
  shorten,
  stateOf,
  takeVersion,
} from "./reactions-state.ts";

const nameOf = ({ service, eventId }: { readonly service: string; readonly eventId: string }) =>
  `${service} ${eventId}`;

/** The event of this name, unless it is so old that its id may be used again. */
function knownOf(state: State, name: Parameters<typeof nameOf>[0], now: number) {
  const known = state.events[nameOf(name)];
  return known && known.expireTime > now ? known : undefined;
}

export function notify(
  state: State,
  rules: Rules,
  request: RequestOf<"notify">,
  now: number,
): Answer {
  const { target, kind, userId, eventId, link, data } = request;
  const { regroupAfterMs, namesOwners, ...content } = request;
  const isAboutTarget = !isSame(target, noTarget);
  const isOwnerUnknown = isAboutTarget && !namesOwners && !stateOf(state, target);
  if (isOwnerUnknown) return { refused: "TARGET_NOT_FOUND" };
  const text = JSON.stringify(content);
  const known = knownOf(state, request, now);
  if (known && known.request !== text) return { refused: "ID_REUSED" };
  if (known) {
    const { retracted } = known;
    return { notified: isUnreadEvent(state, known), replayed: true, retracted };
  }
  const found = isAboutTarget ? activeOf(state, target) : undefined;
  if (found && "refused" in found) return found;
  const notified = hears(state, rules, request);
  takeVersion(state, notified);
  const { version } = state;
  const displayName = shorten(request.displayName);
  const event = { eventId, link, data };
  const member = { userId, displayName, version, time: now, event };
  if (notified) comeIn(state, request, member, regroupAfterMs);
  const expireTime = now + 2 * rules.keptMs;
  // An event without a member has no place, whichever version it took.
  const place = notified ? version : 0;
  const kept = { target, kind, request: text, version: place, expireTime, retracted: false };
  state.events[nameOf(request)] = kept;
  return { notified, replayed: false, retracted: false };
}

const isUnreadEvent = (state: State, event: ReportedEvent): boolean => {
  const found = having(state, event, event.version);
  return found !== undefined && isUnread(found);
};

/** Retracts an event, wherever it is. */
export function retract(state: State, request: RequestOf<"retract">, now: number): Answer {
  const { target } = request;
  if (!isSame(target, noTarget) && !stateOf(state, target)) return { refused: "TARGET_NOT_FOUND" };
  const known = knownOf(state, request, now);
  if (!known) return { refused: "EVENT_NOT_FOUND" };
  if (known.retracted) return { changed: false };
  known.retracted = true;
  const found = having(state, known, known.version);
  // Nobody sees the notifications about a deleted target.
  const isShown = found !== undefined && !stateOf(state, known.target)?.deleted;
  takeVersion(state, isShown);
  if (found) takeOut(state, found, known.version);
  return { changed: true };
}
