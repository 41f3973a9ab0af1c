/**
 * A second implementation of the reactions and events of one owner's targets, with which the models
 * compare the service: lists of members in the order of their versions. It shares nothing with src.
 */
import {
  type Answer,
  type Badge,
  isEvents,
  type LineName,
  plainKind,
  type Request,
  type RequestOf,
  type Selection,
  type Shown,
  type TargetName,
  textOf,
} from "./reactions-requests.ts";
import {
  badgeOf,
  emptyState,
  type Line,
  type Member,
  type State,
  type StoredReaction,
  shownOf,
  stateOf,
  type TargetState,
} from "./reactions-state.ts";

/** The settings of the service, in ms. */
export interface OracleRules {
  readonly ownerId: string;
  readonly keptMs: number;
  readonly coolDownMs: number;
}

const mostKinds = 16;
const mostBytes = 64;

export class Oracle {
  readonly #rules: OracleRules;
  #state: State;

  constructor(rules: OracleRules, state: State = emptyState) {
    this.#rules = rules;
    this.#state = structuredClone(state);
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

  /** The unread lines with their members. */
  get unread(): readonly Readonly<Line>[] {
    return this.#state.unread;
  }

  unreadOf(name: LineName): Readonly<Line> | undefined {
    const isLine = (line: Line) => line.kind === name.kind && same(line.target, name.target);
    return this.#state.unread.find(isLine);
  }

  /** How many react; undefined for a target to which nobody can react. */
  count({ target, kind }: LineName): number | undefined {
    const state = stateOf(this.#state, target);
    return state && !state.deleted ? (state.records[kind]?.length ?? 0) : undefined;
  }

  /** Whether a target is or was registered. */
  isRegistered(target: TargetName): boolean {
    return stateOf(this.#state, target) !== undefined;
  }

  /** The kinds with which a person reacts. */
  kindsOf(target: TargetName, userId: string): string[] {
    const records = Object.entries(stateOf(this.#state, target)?.records ?? {});
    return records
      .filter(([kind, of]) => !isEvents(kind) && of.some((record) => record.userId === userId))
      .map(([kind]) => kind);
  }

  /** The request of an event that a service has reported. */
  event(service: string, eventId: string): RequestOf<"notify"> | undefined {
    const known = this.#state.events[`${service} ${eventId}`];
    return known && JSON.parse(known.request);
  }

  /** Applies `request`. A refused one changes nothing. */
  apply(request: Request, now: number): Answer {
    switch (request.op) {
      case "register":
        return this.#register(request.target, request.title);
      case "react":
        return this.#react(request, now);
      case "unreact":
        return this.#unreact(request, now);
      case "notify":
        return this.#notify(request, now);
      case "read":
        return { changed: this.#read(request, now), badge: this.badge };
      case "readAll": {
        const marks = this.#state.unread.map(({ target, kind }) =>
          this.#read({ target, kind, version: request.version }, now),
        );
        return { markedCount: marks.filter(Boolean).length, badge: this.badge };
      }
      case "seen":
        this.#seen(request.version);
        return { badge: this.badge };
      case "mute":
        return this.#change(request.target, { muted: request.muted });
      case "mutePerson":
        return { changed: this.#mutePerson(request) };
      case "prefer": {
        const { allMuted, mutedKinds } = request.preferences;
        const preferences = { allMuted, mutedKinds: mutedKinds.toSorted() };
        Object.assign(this.#state, preferences);
        return { preferences };
      }
      case "delete":
        return this.#delete(request.target);
      case "readKindsToPurge":
        return { kinds: stateOf(this.#state, request.target)?.purgedKinds.toSorted() ?? [] };
    }
  }

  /** The rest of a purge, after `readKindsToPurge`. It does not change an active target. */
  purge(target: TargetName): void {
    const state = stateOf(this.#state, target);
    if (state?.deleted) state.records = {};
  }

  shown(selection: Selection, now: number): Shown {
    return shownOf(this.#state, selection, now);
  }

  /** The reactions of a user and their times. */
  reactionsOf(
    userId: string,
    targets: readonly TargetName[],
  ): { reaction: string; time: number }[] {
    return targets.flatMap((target) =>
      Object.entries(stateOf(this.#state, target)?.records ?? {}).flatMap(([kind, records]) =>
        records
          .filter((record) => record.userId === userId && !isEvents(kind))
          .map(({ time }) => ({ reaction: `${textOf(target)} ${kind}`, time })),
      ),
    );
  }

  #register(target: TargetName, title: string): Answer {
    if (stateOf(this.#state, target)) return this.#change(target, { title });
    const lists = { purgedKinds: [], records: {}, quiet: {} };
    const fresh: TargetState = { title, muted: false, deleted: false, ...lists };
    this.#state.targets[textOf(target)] = fresh;
    return answerOf(fresh);
  }

  #change(target: TargetName, change: Partial<TargetState>): Answer {
    const state = this.#active(target);
    return "refused" in state ? state : answerOf(Object.assign(state, change));
  }

  #delete(target: TargetName): Answer {
    const state = stateOf(this.#state, target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    if (state.deleted) return answerOf(state);
    const { unread } = this.#state;
    this.#state.unread = unread.filter((line) => !same(line.target, target));
    this.#state.version += unread.length - this.#state.unread.length;
    state.deleted = true;
    state.purgedKinds = Object.keys(state.records);
    return answerOf(state);
  }

  #active(target: TargetName): TargetState | { readonly refused: string } {
    const state = stateOf(this.#state, target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    return state.deleted ? { refused: "TARGET_DELETED" } : state;
  }

  #react(request: RequestOf<"react">, now: number): Answer {
    const { target, kind, userId, exclusive, silent } = request;
    const state = this.#active(target);
    if ("refused" in state) return state;
    const own = this.kindsOf(target, userId);
    const replaced = exclusive ? own.filter((each) => each !== kind) : [];
    const isNew = !own.includes(kind);
    const ended = replaced.filter((each) => state.records[each]?.length === 1).length;
    const kindCount = Object.keys(state.records).length - ended;
    if (isNew && !state.records[kind] && kindCount >= mostKinds)
      return { refused: "LIMIT_EXCEEDED" };
    for (const each of replaced) this.#takeBack(state, { target, kind: each, userId }, now);
    if (isNew) this.#add(state, request, now, silent);
    return {
      changed: isNew || replaced.length > 0,
      reactionCount: state.records[kind]?.length as number,
    };
  }

  #unreact(request: RequestOf<"unreact">, now: number): Answer {
    const { target, kind, userId } = request;
    const state = this.#active(target);
    if ("refused" in state) return state;
    const changed = this.kindsOf(target, userId).includes(kind);
    if (changed) this.#takeBack(state, request, now);
    return { changed, reactionCount: state.records[kind]?.length ?? 0 };
  }

  #notify(request: RequestOf<"notify">, now: number): Answer {
    const { target, kind, userId, service, eventId } = request;
    if (!stateOf(this.#state, target)) return { refused: "TARGET_NOT_FOUND" };
    const known = this.#state.events[`${service} ${eventId}`];
    const text = JSON.stringify(request);
    if (known && known.expireTime > now) {
      if (known.request !== text) return { refused: "ID_REUSED" };
      return { notified: known.notified, replayed: true };
    }
    const state = this.#active(target);
    if ("refused" in state) return state;
    if (!state.records[kind] && Object.keys(state.records).length >= mostKinds) {
      return { refused: "LIMIT_EXCEEDED" };
    }
    if (state.records[kind]?.some((record) => record.userId === userId)) {
      this.#takeBack(state, request, now);
    }
    const notified = this.#add(state, request, now, false);
    const expireTime = now + this.#rules.keptMs;
    this.#state.events[`${service} ${eventId}`] = { request: text, notified, expireTime };
    return { notified, replayed: false };
  }

  /** Adds a record, also to the unread line if it notifies the owner; returns whether it does. */
  #add(
    state: TargetState,
    { target, kind, userId, displayName }: LineName & { userId: string; displayName: string },
    now: number,
    silent: boolean,
  ): boolean {
    const { allMuted, mutedKinds, mutedPeople } = this.#state;
    const quietUntil = state.quiet[`${kind} ${userId}`] ?? 0;
    delete state.quiet[`${kind} ${userId}`];
    const isQuiet = quietUntil > now;
    const isMuted =
      state.muted ||
      allMuted ||
      mutedKinds.includes(plainKind(kind)) ||
      mutedPeople.includes(userId);
    const notified = !silent && !isQuiet && !isMuted && userId !== this.#rules.ownerId;
    const version = ++this.#state.version;
    const member: Member = { userId, displayName: shorten(displayName), version, time: now };
    const record: StoredReaction = { ...member, notified, ...(isQuiet && { quietUntil }) };
    state.records[kind] = [...(state.records[kind] ?? []), record];
    if (!notified) return false;
    const line = this.unreadOf({ target, kind });
    if (line) (line as Line).members.push(member);
    else this.#state.unread.push({ target, kind, members: [member] });
    return true;
  }

  /** Removes a record, and its member from the unread line. */
  #takeBack(
    state: TargetState,
    { target, kind, userId }: LineName & { userId: string },
    now: number,
  ): void {
    const records = state.records[kind] ?? [];
    const record = records.find((each) => each.userId === userId) as StoredReaction;
    this.#state.version += 1;
    if (records.length > 1) state.records[kind] = records.filter((each) => each !== record);
    else delete state.records[kind];
    const line = this.unreadOf({ target, kind });
    if (line?.members.some(({ version }) => version === record.version)) {
      const left = line.members.filter(({ version }) => version !== record.version);
      if (left.length > 0) (line as Line).members = left;
      else this.#drop(line);
      return;
    }
    const wasRead = record.notified && !isEvents(kind);
    const quietUntil = wasRead ? record.time + this.#rules.coolDownMs : (record.quietUntil ?? 0);
    if (quietUntil > now) state.quiet[`${kind} ${userId}`] = quietUntil;
  }

  /** Marks a line as read up to a version; returns whether that changed anything. */
  #read({ version, ...name }: LineName & { version: number }, now: number): boolean {
    const line = this.unreadOf(name);
    const seen = line?.members.filter((member) => member.version <= version) ?? [];
    if (!line || seen.length === 0) return false;
    this.#state.version += 1;
    const times = { readTime: now, expireTime: now + this.#rules.keptMs };
    this.#state.read.push({ ...line, members: seen, ...times });
    const later = line.members.filter((member) => member.version > version);
    if (later.length > 0) (line as Line).members = later;
    else this.#drop(line);
    return true;
  }

  /** The version grows only when the badge changes. */
  #seen(version: number): void {
    const before = this.badge.unseenNotificationCount;
    const seen = Math.min(version, this.#state.version);
    this.#state.seenVersion = Math.max(this.#state.seenVersion, seen);
    if (this.badge.unseenNotificationCount < before) this.#state.version += 1;
  }

  #mutePerson({ userId, muted }: RequestOf<"mutePerson">): boolean {
    const others = this.#state.mutedPeople.filter((each) => each !== userId);
    const changed = muted === (others.length === this.#state.mutedPeople.length);
    this.#state.mutedPeople = muted ? [...others, userId] : others;
    return changed;
  }

  #drop(line: Readonly<Line>): void {
    this.#state.unread = this.#state.unread.filter((each) => each !== line);
  }
}

const same = (a: TargetName, b: TargetName): boolean => textOf(a) === textOf(b);
const answerOf = ({ title, muted, deleted }: TargetState): Answer => ({ title, muted, deleted });

const clusters = new Intl.Segmenter("ja", { granularity: "grapheme" });

/** The longest beginning of whole grapheme clusters that fits, or else of whole code points. */
function shorten(name: string): string {
  const whole = Array.from(clusters.segment(name), ({ segment }) => segment);
  return longestFit(whole) || longestFit([...name]);
}

/** Joins the parts, without as many of the last ones as do not fit. */
function longestFit(parts: readonly string[]): string {
  const joined = parts.join("");
  return Buffer.byteLength(joined) > mostBytes ? longestFit(parts.slice(0, -1)) : joined;
}
