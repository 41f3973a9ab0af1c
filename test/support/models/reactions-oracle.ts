/**
 * A second implementation of the reactions to one owner's targets, with which the models compare
 * the service: lists of actors in the order of their reactions. It shares nothing with src/domain.
 */

export interface TargetName {
  readonly type: string;
  readonly id: string;
}

export type Request =
  | { readonly op: "register"; readonly target: TargetName; readonly title: string }
  | {
      readonly op: "react";
      readonly target: TargetName;
      readonly kind: string;
      readonly userId: string;
      readonly actorName: string;
    }
  | {
      readonly op: "unreact";
      readonly target: TargetName;
      readonly kind: string;
      readonly userId: string;
    }
  | {
      readonly op: "read";
      readonly target: TargetName;
      readonly kind: string;
      readonly version: number;
    }
  | { readonly op: "readAll"; readonly version: number }
  | { readonly op: "mute"; readonly target: TargetName; readonly muted: boolean }
  | { readonly op: "delete"; readonly target: TargetName }
  /** The first step of a purge; it does not change an active target. */
  | { readonly op: "purgeUnread"; readonly target: TargetName };

export interface Badge {
  readonly version: number;
  readonly groupCount: number;
  readonly peopleCount: number;
}

export type Answer =
  | { readonly refused: string }
  | { readonly changed: boolean; readonly reactionCount: number }
  | { readonly changed: boolean; readonly badge: Badge }
  | { readonly markedCount: number; readonly badge: Badge }
  | { readonly title: string; readonly muted: boolean; readonly deleted: boolean }
  | { readonly kinds: readonly string[] };

/** A group as a reader sees it. */
export interface ShownGroup {
  readonly target: TargetName & { readonly title: string; readonly deleted: boolean };
  readonly kind: string;
  readonly firstVersion: number;
  readonly version: number;
  readonly peopleCount: number;
  readonly names: readonly string[];
  readonly otherCount: number;
  readonly firstActors: readonly string[];
  readonly latestActors: readonly string[];
  /** The actors who still react, newest first. */
  readonly actors: readonly string[];
  readonly times: readonly number[];
}

export interface ShownTarget {
  readonly state: string;
  readonly title: string;
  readonly muted: boolean;
  readonly counts: Readonly<Record<string, number>>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
  /** Who reacts, newest first, or the reason of the refusal. */
  readonly reactors: Readonly<Record<string, readonly string[] | string>>;
  /** Whose reactions notified the owner, newest first, also of a deleted target. */
  readonly notified: Readonly<Record<string, readonly string[] | string>>;
  /** The versions of the reactions, newest first. */
  readonly versions: Readonly<Record<string, readonly number[]>>;
}

/** What is read, and for which viewer. */
export interface Selection {
  readonly targets: readonly TargetName[];
  readonly kinds: readonly string[];
  readonly viewerId: string;
}

/** Everything about an owner that can be read. */
export interface Shown {
  readonly badge: Badge;
  /** The groups with the latest version first, here and in `read`. */
  readonly unread: readonly ShownGroup[];
  readonly read: readonly ShownGroup[];
  readonly targets: readonly ShownTarget[];
}

interface Member {
  userId: string;
  actorName: string;
  version: number;
  time: number;
}

interface TargetState {
  title: string;
  muted: boolean;
  deleted: boolean;
  /** The kinds whose reactions were purged: every later purge reads them again. */
  purged: string[];
  /** By kind, in the order of the reactions. */
  actors: Record<string, (Member & { notified: boolean })[]>;
}

interface Group {
  target: TargetName;
  kind: string;
  firstVersion: number;
  version: number;
  createTime: number;
  updateTime: number;
  members: Member[];
}

interface State {
  version: number;
  targets: Record<string, TargetState>;
  unread: Group[];
  read: (Group & { readTime: number; expireTime: number })[];
}

export interface OracleRules {
  readonly ownerId: string;
  readonly keptMs: number;
}

const mostKinds = 16;
const mostBytes = 64;

export class Oracle {
  readonly #rules: OracleRules;
  #state: State;

  constructor(rules: OracleRules, state?: State) {
    this.#rules = rules;
    this.#state = state ?? { version: 0, targets: {}, unread: [], read: [] };
  }

  copy(): Oracle {
    return new Oracle(this.#rules, structuredClone(this.#state));
  }

  /** The state as text: equal texts mean equal states. */
  text(): string {
    return JSON.stringify(this.#state);
  }

  get badge(): Badge {
    const { version, unread } = this.#state;
    const actors = unread.reduce((sum, { members }) => sum + members.length, 0);
    return { version, groupCount: unread.length, peopleCount: actors };
  }

  /** The unread groups with the versions of their members. */
  get unread(): readonly Readonly<Group>[] {
    return this.#state.unread;
  }

  unreadOf(target: TargetName, kind: string): Readonly<Group> | undefined {
    return this.#unreadGroup(target, kind);
  }

  /** How many actors react; undefined for a target to which nobody can react. */
  count(target: TargetName, kind: string): number | undefined {
    const state = this.#stateOf(target);
    return state && !state.deleted ? (state.actors[kind]?.length ?? 0) : undefined;
  }

  reacts(target: TargetName, kind: string, userId: string): boolean {
    const actors = this.#stateOf(target)?.actors[kind] ?? [];
    return actors.some((member) => member.userId === userId);
  }

  /** Applies `request`. A refused one changes nothing. */
  apply(request: Request, now: number): Answer {
    switch (request.op) {
      case "register":
        return this.#register(request.target, request.title);
      case "react":
        return this.#react(request, now);
      case "unreact":
        return this.#unreact(request);
      case "read":
        return this.#read(request, now);
      case "readAll": {
        const { version } = request;
        if (version > this.#state.version) return { refused: "INVALID_REQUEST" };
        const marks = this.#state.unread
          .filter(({ firstVersion }) => firstVersion <= version)
          .map(({ target, kind }) => this.#read({ target, kind, version }, now));
        const marked = marks.filter((mark) => "changed" in mark && mark.changed).length;
        return { markedCount: marked, badge: this.badge };
      }
      case "mute":
        return this.#change(request.target, { muted: request.muted });
      case "delete": {
        const state = this.#stateOf(request.target);
        if (!state) return { refused: "TARGET_NOT_FOUND" };
        state.deleted = true;
        return answerOf(state);
      }
      case "purgeUnread":
        return this.#purgeUnread(request.target);
    }
  }

  /** The rest of a purge, after `purgeUnread`. It does not change an active target. */
  purge(target: TargetName): void {
    const state = this.#stateOf(target);
    if (!state?.deleted) return;
    state.purged.push(...Object.keys(state.actors));
    state.actors = {};
    this.#state.read = this.#state.read.filter((group) => !same(group.target, target));
  }

  shown({ targets, kinds, viewerId }: Selection, now: number): Shown {
    const { unread, read } = this.#state;
    return {
      badge: this.badge,
      unread: unread.toSorted(byLast).map((group) => this.#shownGroup(group, [])),
      read: read
        .filter(({ expireTime }) => expireTime > now)
        .toSorted(byLast)
        .map((group) => this.#shownGroup(group, [group.readTime, group.expireTime])),
      targets: targets.map((target) => this.#shownTarget(target, kinds, viewerId)),
    };
  }

  /** The reactions of a user and their times. */
  reactionsOf(
    userId: string,
    targets: readonly TargetName[],
  ): { reaction: string; time: number }[] {
    return targets.flatMap((target) =>
      Object.entries(this.#stateOf(target)?.actors ?? {}).flatMap(([kind, actors]) =>
        actors
          .filter((member) => member.userId === userId)
          .map(({ time }) => ({ reaction: `${text(target)} ${kind}`, time })),
      ),
    );
  }

  #register(target: TargetName, title: string): Answer {
    const state = this.#stateOf(target);
    if (state) return this.#change(target, { title });
    const fresh = { title, muted: false, deleted: false, purged: [], actors: {} };
    this.#state.targets[text(target)] = fresh;
    return answerOf(fresh);
  }

  #change(target: TargetName, change: Partial<TargetState>): Answer {
    const state = this.#stateOf(target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    if (state.deleted) return { refused: "TARGET_DELETED" };
    return answerOf(Object.assign(state, change));
  }

  #react(request: Request & { op: "react" }, now: number): Answer {
    const { target, kind, userId, actorName } = request;
    const state = this.#stateOf(target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    if (state.deleted) return { refused: "TARGET_DELETED" };
    const actors = state.actors[kind] ?? [];
    if (actors.some((member) => member.userId === userId)) {
      return { changed: false, reactionCount: actors.length };
    }
    if (actors.length === 0 && Object.keys(state.actors).length === mostKinds) {
      return { refused: "LIMIT_EXCEEDED" };
    }
    const version = ++this.#state.version;
    const notified = !state.muted && userId !== this.#rules.ownerId;
    const member = { userId, actorName: shorten(actorName), version, time: now };
    actors.push({ ...member, notified });
    state.actors[kind] = actors;
    if (notified) this.#join(target, kind, member);
    return { changed: true, reactionCount: actors.length };
  }

  #join(target: TargetName, kind: string, member: Member): void {
    const group = this.#unreadGroup(target, kind);
    const { version, time } = member;
    if (group) {
      group.members.push(member);
      group.version = version;
      group.updateTime = time;
      return;
    }
    const times = { createTime: time, updateTime: time };
    this.#state.unread.push({
      target,
      kind,
      firstVersion: version,
      version,
      ...times,
      members: [member],
    });
  }

  #unreact({ target, kind, userId }: Request & { op: "unreact" }): Answer {
    const state = this.#stateOf(target);
    if (!state) return { refused: "TARGET_NOT_FOUND" };
    if (state.deleted) return { refused: "TARGET_DELETED" };
    const actors = state.actors[kind] ?? [];
    const left = actors.filter((member) => member.userId !== userId);
    if (left.length === actors.length) return { changed: false, reactionCount: left.length };
    this.#state.version += 1;
    if (left.length > 0) state.actors[kind] = left;
    else delete state.actors[kind];
    const group = this.#unreadGroup(target, kind);
    if (group) {
      group.members = group.members.filter((member) => member.userId !== userId);
      if (group.members.length === 0) this.#drop(group);
    }
    return { changed: true, reactionCount: left.length };
  }

  #read(
    { target, kind, version }: { target: TargetName; kind: string; version: number },
    now: number,
  ): Answer {
    if (version > this.#state.version) return { refused: "INVALID_REQUEST" };
    const group = this.#unreadGroup(target, kind);
    const seen = group?.members.filter((member) => member.version <= version) ?? [];
    if (!group || seen.length === 0) return { changed: false, badge: this.badge };
    this.#state.version += 1;
    const times = { readTime: now, expireTime: now + this.#rules.keptMs };
    const later = group.members.filter((member) => member.version > version);
    if (later.length === 0) {
      this.#drop(group);
      this.#state.read.push({ ...group, ...times });
      return { changed: true, badge: this.badge };
    }
    const last = seen.at(-1) as Member;
    const moved = { version: last.version, updateTime: last.time };
    this.#state.read.push({ ...group, members: seen, ...moved, ...times });
    group.members = later;
    group.firstVersion = version + 1;
    group.createTime = (later[0] as Member).time;
    return { changed: true, badge: this.badge };
  }

  #purgeUnread(target: TargetName): Answer {
    const state = this.#stateOf(target);
    if (!state?.deleted) return { kinds: [] };
    for (const group of this.#state.unread.filter((each) => same(each.target, target))) {
      this.#drop(group);
      this.#state.version += 1;
    }
    return { kinds: [...state.purged, ...Object.keys(state.actors)].sort() };
  }

  #stateOf(target: TargetName): TargetState | undefined {
    return this.#state.targets[text(target)];
  }

  #unreadGroup(target: TargetName, kind: string): Group | undefined {
    return this.#state.unread.find((group) => same(group.target, target) && group.kind === kind);
  }

  #drop(group: Group): void {
    this.#state.unread = this.#state.unread.filter((each) => each !== group);
  }

  #shownGroup(group: Group, times: readonly number[]): ShownGroup {
    const { target, kind, firstVersion, version, members, createTime, updateTime } = group;
    const { title = "", deleted = false, actors = {} } = this.#stateOf(target) ?? {};
    const names = members.map(({ actorName }) => actorName);
    const present = (actors[kind] ?? []).filter(
      (member) => member.notified && member.version >= firstVersion && member.version <= version,
    );
    return {
      target: { ...target, title, deleted },
      kind,
      firstVersion,
      version,
      peopleCount: members.length,
      names: names.slice(0, names.length > 2 ? 1 : 2),
      otherCount: names.length > 2 ? names.length - 1 : 0,
      firstActors: members.slice(0, 2).map(label),
      latestActors: members.slice(-3).reverse().map(label),
      actors: present.reverse().map(label),
      times: [createTime, updateTime, ...times],
    };
  }

  #shownTarget(target: TargetName, kinds: readonly string[], viewerId: string): ShownTarget {
    const state = this.#stateOf(target);
    const byKind = <T>(of: (kind: string) => T) =>
      Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
    const of = (kind: string) => (state?.actors[kind] ?? []).toReversed();
    const notified = (kind: string) => of(kind).filter((member) => member.notified);
    const { title = "", muted = false } = state ?? {};
    const shown = {
      title,
      muted,
      counts: {},
      own: [],
      notified: byKind((kind) => (state ? notified(kind).map(label) : "TARGET_NOT_FOUND")),
      versions: byKind((kind) => of(kind).map(({ version }) => version)),
    };
    if (!state) return { ...shown, state: "UNKNOWN", reactors: byKind(() => "TARGET_NOT_FOUND") };
    if (state.deleted) {
      return { ...shown, state: "DELETED", reactors: byKind(() => "TARGET_DELETED") };
    }
    const reacted = Object.keys(state.actors).sort();
    return {
      ...shown,
      state: "ACTIVE",
      counts: Object.fromEntries(reacted.map((kind) => [kind, of(kind).length])),
      own: reacted.filter((kind) => of(kind).some(({ userId }) => userId === viewerId)),
      reactors: byKind((kind) => of(kind).map(label)),
    };
  }
}

const text = ({ type, id }: TargetName): string => `${type}/${id}`;
const same = (a: TargetName, b: TargetName): boolean => text(a) === text(b);
const byLast = (a: Group, b: Group): number => b.version - a.version;
const answerOf = ({ title, muted, deleted }: TargetState): Answer => ({ title, muted, deleted });

/** An actor as text: the user id and the name. */
export const label = ({
  userId,
  actorName,
}: {
  readonly userId: string;
  readonly actorName: string;
}): string => `${userId} ${actorName}`;

/** The longest beginning of whole characters that fits. */
function shorten(name: string): string {
  let kept = [...name];
  while (Buffer.byteLength(kept.join("")) > mostBytes) kept = kept.slice(0, -1);
  return kept.join("");
}
