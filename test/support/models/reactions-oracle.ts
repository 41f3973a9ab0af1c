/**
 * A second implementation of the reactions and events of which one owner is notified, with which
 * the models compare the service. It shares nothing with src.
 */
import { notify, retract } from "./reactions-oracle-events.ts";
import { dismiss, markAllRead, markRead, markSeen, markUnread } from "./reactions-oracle-marks.ts";
import { end } from "./reactions-oracle-members.ts";
import { blockPerson, mutePerson } from "./reactions-oracle-people.ts";
import { kindsOf, react, reactionOf, unreact } from "./reactions-oracle-reactions.ts";
import {
  type Answer,
  type Badge,
  type GroupName,
  isSame,
  type Request,
  type RequestOf,
  type TargetName,
  textOf,
} from "./reactions-requests.ts";
import type { Selection, Shown } from "./reactions-shown.ts";
import {
  activeOf,
  badgeOf,
  emptyState,
  isUnread,
  type Notification,
  openOf,
  type Rules,
  type State,
  shorten,
  stateOf,
  type TargetState,
  takeVersion,
} from "./reactions-state.ts";
import { shownOf } from "./reactions-view.ts";

export class Oracle {
  readonly #rules: Rules;
  #state: State;

  constructor(rules: Rules, state: State = emptyState) {
    this.#rules = rules;
    this.#state = structuredClone(state);
    // A kind may be a name that every object has, and a clone has the prototype of objects again.
    const byKind = Object.values(this.#state.targets).map(({ records }) => records);
    for (const each of [this.#state.kindCounts, ...byKind]) Object.setPrototypeOf(each, null);
  }

  copy(): Oracle {
    return new Oracle(this.#rules, this.#state);
  }

  /** The state as text: equal texts mean equal states. */
  text(): string {
    return JSON.stringify(this.#state);
  }

  get badge(): Badge {
    return badgeOf(this.#state);
  }

  /** All notifications with their members, in the order in which they became unread or read. */
  get notifications(): readonly Readonly<Notification>[] {
    return this.#state.notifications;
  }

  get unread(): readonly Readonly<Notification>[] {
    return this.#state.notifications.filter(isUnread);
  }

  /** The reactions and events that are stored and in no notification, which was dismissed. */
  get dismissed(): readonly State["dismissed"][number][] {
    const { dismissed, events, targets } = this.#state;
    const kept = Object.values(events)
      .filter(({ retracted, target }) => !retracted && !targets[textOf(target)]?.purged)
      .map(({ version }) => version);
    const reactions = Object.values(targets).flatMap(({ records }) => Object.values(records));
    const reacting = reactions.flat().map(({ version }) => version);
    const stored = new Set([...kept, ...reacting]);
    return dismissed.filter(({ version }) => stored.has(version));
  }

  /** The unread notification that takes in new members. */
  openOf(group: GroupName): Readonly<Notification> | undefined {
    return openOf(this.#state, group);
  }

  /** How many react; undefined for a target to which nobody can react. */
  count({ target, kind }: GroupName): number | undefined {
    const found = activeOf(this.#state, target);
    return "refused" in found ? undefined : (found.records[kind]?.length ?? 0);
  }

  /** Whether a target is or was registered. */
  isRegistered(target: TargetName): boolean {
    return stateOf(this.#state, target) !== undefined;
  }

  /** The kinds with which a person reacts. */
  kindsOf(target: TargetName, userId: string): string[] {
    return kindsOf(this.#state, target, userId);
  }

  /** Whether a person reacts, and by this name. */
  reactsAs(group: GroupName, userId: string, displayName: string): boolean {
    return reactionOf(this.#state, group, userId)?.displayName === shorten(displayName);
  }

  /** The request of an event that a service has reported. */
  event(service: string, eventId: string): RequestOf<"notify"> | undefined {
    const known = this.#state.events[`${service} ${eventId}`];
    return known && JSON.parse(known.request);
  }

  /** The names of the events that were reported, in the order of the versions. */
  get events(): readonly Omit<RequestOf<"retract">, "op">[] {
    return Object.values(this.#state.events)
      .map(({ request }): RequestOf<"notify"> => JSON.parse(request))
      .map(({ service, eventId, target }) => ({ service, eventId, target }));
  }

  /** Applies `request`. A refused one changes nothing. */
  apply(request: Request, now: number): Answer {
    const [state, rules] = [this.#state, this.#rules];
    switch (request.op) {
      case "register":
        return this.#register(request.target, request.title);
      case "react":
        return react(state, rules, request, now);
      case "unreact":
        return unreact(state, request, now);
      case "notify":
        return notify(state, rules, request, now);
      case "retract":
        return retract(state, request, now);
      case "read":
        return markRead(state, rules, request, now);
      case "dismiss":
        return dismiss(state, request, now);
      case "unread":
        return markUnread(state, request, now);
      case "readAll":
        return markAllRead(state, rules, request, now);
      case "seen":
        return markSeen(state, request.version);
      case "mute":
        return this.#change(request.target, { muted: request.muted });
      case "mutePerson":
        if (request.muted && request.userId === rules.ownerId) return refusedMute;
        return { changed: mutePerson(state, request) };
      case "block":
        if (request.userId === rules.ownerId) return refusedMute;
        return blockPerson(state, request);
      case "prefer": {
        const { allMuted, mutedKinds, mutedEventKinds } = request.preferences;
        const kinds = {
          mutedKinds: mutedKinds.toSorted(),
          mutedEventKinds: mutedEventKinds.toSorted(),
        };
        const preferences = { allMuted, ...kinds };
        Object.assign(state, preferences);
        return { preferences };
      }
      case "delete":
        return this.#delete(request.target);
      case "readKindsToPurge":
        return { kinds: stateOf(state, request.target)?.purgedKinds.toSorted() ?? [] };
    }
  }

  /** The rest of a purge, after `readKindsToPurge`. It does not change an active target. */
  purge(target: TargetName): void {
    const state = stateOf(this.#state, target);
    if (state?.deleted) Object.assign(state, { records: Object.create(null), purged: true });
  }

  /**
   * Takes over what has become of a target of another owner, whose mute does not count here. A
   * deleted one is purged by then, which ends the notifications about it.
   */
  follow(target: TargetName, owner: Oracle): void {
    const theirs = stateOf(owner.#state, target);
    if (!theirs) return;
    this.#state.targets[textOf(target)] ??= newTarget(theirs.title);
    if (theirs.deleted) this.#delete(target);
    const { title, purged } = theirs;
    Object.assign(stateOf(this.#state, target) as TargetState, { title, purged });
  }

  shown(selection: Selection, now: number): Shown {
    return shownOf(this.#state, selection, now);
  }

  /** The reactions of a user to active targets, and their times. */
  reactionsOf(
    userId: string,
    targets: readonly TargetName[],
  ): { reaction: string; time: number }[] {
    const active = targets.filter((target) => stateOf(this.#state, target)?.deleted === false);
    return active.flatMap((target) =>
      Object.entries(stateOf(this.#state, target)?.records ?? {}).flatMap(([kind, records]) =>
        records
          .filter((record) => record.userId === userId)
          .map(({ time }) => ({ reaction: `${textOf(target)} ${kind}`, time })),
      ),
    );
  }

  #register(target: TargetName, title: string): Answer {
    if (stateOf(this.#state, target)) return this.#change(target, { title });
    const fresh = newTarget(title);
    this.#state.targets[textOf(target)] = fresh;
    return answerOf(fresh);
  }

  #change(target: TargetName, change: Partial<TargetState>): Answer {
    const found = activeOf(this.#state, target);
    return "refused" in found ? found : answerOf(Object.assign(found, change));
  }

  #delete(target: TargetName): Answer {
    const state = stateOf(this.#state, target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    if (state.deleted) return answerOf(state);
    for (const each of this.unread.filter((one) => isSame(one.target, target))) {
      end(this.#state, each);
      takeVersion(this.#state, true);
    }
    state.deleted = true;
    state.purgedKinds = Object.keys(state.records);
    return answerOf(state);
  }
}

const newTarget = (title: string): TargetState => ({
  title,
  muted: false,
  deleted: false,
  purged: false,
  purgedKinds: [],
  records: Object.create(null),
  former: {},
});

const answerOf = ({ title, muted, deleted }: TargetState): Answer => ({ title, muted, deleted });

/** Nobody mutes themselves. */
const refusedMute: Answer = { refused: "INVALID_REQUEST" };
