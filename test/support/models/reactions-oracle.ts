/**
 * What the reactions to one owner's targets have to do, told a second time and in other words:
 * lists of people in the order in which they came. Nothing is shared with src/domain.
 */

export interface Name {
  readonly type: string;
  readonly id: string;
}

export type Request =
  | { readonly op: "register"; readonly target: Name; readonly title: string }
  | {
      readonly op: "react";
      readonly target: Name;
      readonly kind: string;
      readonly userId: string;
      readonly actorName: string;
    }
  | {
      readonly op: "unreact";
      readonly target: Name;
      readonly kind: string;
      readonly userId: string;
    }
  | {
      readonly op: "read";
      readonly target: Name;
      readonly kind: string;
      readonly version: number;
    }
  | { readonly op: "readAll"; readonly version: number }
  | { readonly op: "mute"; readonly target: Name; readonly muted: boolean }
  | { readonly op: "delete"; readonly target: Name }
  /** The first step of a removal; a target that was not deleted stays as it is. */
  | { readonly op: "removeUnread"; readonly target: Name };

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

/** A group of people, as a reader sees it. */
export interface ShownGroup {
  readonly target: Name & { readonly title: string; readonly deleted: boolean };
  readonly kind: string;
  readonly firstVersion: number;
  readonly version: number;
  readonly peopleCount: number;
  readonly names: readonly string[];
  readonly otherCount: number;
  readonly firstActors: readonly string[];
  readonly latestActors: readonly string[];
  /** Of those, who still react, newest first. */
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
  /** Who reacts, newest first, or why that is not told. */
  readonly reactors: Readonly<Record<string, readonly string[] | string>>;
  /** Who reacts and was told of, newest first, tombstone or not. */
  readonly notified: Readonly<Record<string, readonly string[] | string>>;
  /** The numbers at which they came. */
  readonly numbers: Readonly<Record<string, readonly number[]>>;
}

/** What is looked at, and by whom. */
export interface Sight {
  readonly targets: readonly Name[];
  readonly kinds: readonly string[];
  readonly viewerId: string;
}

/** Everything about an owner that can be seen. */
export interface Shown {
  readonly badge: Badge;
  /** Both with the latest people first. */
  readonly unread: readonly ShownGroup[];
  readonly read: readonly ShownGroup[];
  readonly targets: readonly ShownTarget[];
}

interface Person {
  userId: string;
  actorName: string;
  version: number;
  time: number;
}

interface Place {
  title: string;
  muted: boolean;
  deleted: boolean;
  /** The kinds of those that were removed: a removal looks for them again. */
  removed: string[];
  /** By kind, in the order in which they came. */
  people: Record<string, (Person & { notified: boolean })[]>;
}

interface Pile {
  target: Name;
  kind: string;
  firstVersion: number;
  version: number;
  createTime: number;
  updateTime: number;
  members: Person[];
}

interface State {
  version: number;
  places: Record<string, Place>;
  unread: Pile[];
  read: (Pile & { readTime: number; expireTime: number })[];
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
    this.#state = state ?? { version: 0, places: {}, unread: [], read: [] };
  }

  copy(): Oracle {
    return new Oracle(this.#rules, structuredClone(this.#state));
  }

  /** Equal texts, equal states. */
  text(): string {
    return JSON.stringify(this.#state);
  }

  get badge(): Badge {
    const { version, unread } = this.#state;
    const people = unread.reduce((sum, { members }) => sum + members.length, 0);
    return { version, groupCount: unread.length, peopleCount: people };
  }

  /** What is unread, with the numbers at which its members came. */
  get unread(): readonly Readonly<Pile>[] {
    return this.#state.unread;
  }

  unreadOf(target: Name, kind: string): Readonly<Pile> | undefined {
    return this.#pile(target, kind);
  }

  /** How many people react; undefined where nobody can. */
  count(target: Name, kind: string): number | undefined {
    const place = this.#place(target);
    return place && !place.deleted ? (place.people[kind]?.length ?? 0) : undefined;
  }

  reacts(target: Name, kind: string, userId: string): boolean {
    const people = this.#place(target)?.people[kind] ?? [];
    return people.some((person) => person.userId === userId);
  }

  /** Does `request`. What is refused leaves no trace. */
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
        const place = this.#place(request.target);
        if (!place) return { refused: "TARGET_NOT_FOUND" };
        place.deleted = true;
        return tell(place);
      }
      case "removeUnread":
        return this.#removeUnread(request.target);
    }
  }

  /** What a removal does once the unread is gone; nothing before. */
  clear(target: Name): void {
    const place = this.#place(target);
    if (!place?.deleted) return;
    place.removed.push(...Object.keys(place.people));
    place.people = {};
    this.#state.read = this.#state.read.filter((pile) => !same(pile.target, target));
  }

  shown({ targets, kinds, viewerId }: Sight, now: number): Shown {
    const { unread, read } = this.#state;
    return {
      badge: this.badge,
      unread: unread.toSorted(byLast).map((pile) => this.#group(pile, [])),
      read: read
        .filter(({ expireTime }) => expireTime > now)
        .toSorted(byLast)
        .map((pile) => this.#group(pile, [pile.readTime, pile.expireTime])),
      targets: targets.map((target) => this.#target(target, kinds, viewerId)),
    };
  }

  /** What a person reacts to, and since when. */
  reactionsOf(userId: string, targets: readonly Name[]): { what: string; time: number }[] {
    return targets.flatMap((target) =>
      Object.entries(this.#place(target)?.people ?? {}).flatMap(([kind, people]) =>
        people
          .filter((person) => person.userId === userId)
          .map(({ time }) => ({ what: `${text(target)} ${kind}`, time })),
      ),
    );
  }

  #register(target: Name, title: string): Answer {
    const place = this.#place(target);
    if (place) return this.#change(target, { title });
    const fresh = { title, muted: false, deleted: false, removed: [], people: {} };
    this.#state.places[text(target)] = fresh;
    return tell(fresh);
  }

  #change(target: Name, change: Partial<Place>): Answer {
    const place = this.#place(target);
    if (!place) return { refused: "TARGET_NOT_FOUND" };
    if (place.deleted) return { refused: "TARGET_DELETED" };
    return tell(Object.assign(place, change));
  }

  #react(request: Request & { op: "react" }, now: number): Answer {
    const { target, kind, userId, actorName } = request;
    const place = this.#place(target);
    if (!place) return { refused: "TARGET_NOT_FOUND" };
    if (place.deleted) return { refused: "TARGET_DELETED" };
    const people = place.people[kind] ?? [];
    if (people.some((person) => person.userId === userId)) {
      return { changed: false, reactionCount: people.length };
    }
    if (people.length === 0 && Object.keys(place.people).length === mostKinds) {
      return { refused: "LIMIT_EXCEEDED" };
    }
    const version = ++this.#state.version;
    const notified = !place.muted && userId !== this.#rules.ownerId;
    const person = { userId, actorName: shorten(actorName), version, time: now };
    people.push({ ...person, notified });
    place.people[kind] = people;
    if (notified) this.#join(target, kind, person);
    return { changed: true, reactionCount: people.length };
  }

  #join(target: Name, kind: string, person: Person): void {
    const pile = this.#pile(target, kind);
    const { version, time } = person;
    if (pile) {
      pile.members.push(person);
      pile.version = version;
      pile.updateTime = time;
      return;
    }
    const times = { createTime: time, updateTime: time };
    this.#state.unread.push({
      target,
      kind,
      firstVersion: version,
      version,
      ...times,
      members: [person],
    });
  }

  #unreact({ target, kind, userId }: Request & { op: "unreact" }): Answer {
    const place = this.#place(target);
    if (!place) return { refused: "TARGET_NOT_FOUND" };
    if (place.deleted) return { refused: "TARGET_DELETED" };
    const people = place.people[kind] ?? [];
    const left = people.filter((person) => person.userId !== userId);
    if (left.length === people.length) return { changed: false, reactionCount: left.length };
    this.#state.version += 1;
    if (left.length > 0) place.people[kind] = left;
    else delete place.people[kind];
    const pile = this.#pile(target, kind);
    if (pile) {
      pile.members = pile.members.filter((member) => member.userId !== userId);
      if (pile.members.length === 0) this.#drop(pile);
    }
    return { changed: true, reactionCount: left.length };
  }

  #read(
    { target, kind, version }: { target: Name; kind: string; version: number },
    now: number,
  ): Answer {
    if (version > this.#state.version) return { refused: "INVALID_REQUEST" };
    const pile = this.#pile(target, kind);
    const seen = pile?.members.filter((member) => member.version <= version) ?? [];
    if (!pile || seen.length === 0) return { changed: false, badge: this.badge };
    this.#state.version += 1;
    const times = { readTime: now, expireTime: now + this.#rules.keptMs };
    const came = pile.members.filter((member) => member.version > version);
    if (came.length === 0) {
      this.#drop(pile);
      this.#state.read.push({ ...pile, ...times });
      return { changed: true, badge: this.badge };
    }
    const last = seen.at(-1) as Person;
    const moved = { version: last.version, updateTime: last.time };
    this.#state.read.push({ ...pile, members: seen, ...moved, ...times });
    pile.members = came;
    pile.firstVersion = version + 1;
    pile.createTime = (came[0] as Person).time;
    return { changed: true, badge: this.badge };
  }

  #removeUnread(target: Name): Answer {
    const place = this.#place(target);
    if (!place?.deleted) return { kinds: [] };
    for (const pile of this.#state.unread.filter((each) => same(each.target, target))) {
      this.#drop(pile);
      this.#state.version += 1;
    }
    return { kinds: [...place.removed, ...Object.keys(place.people)].sort() };
  }

  #place(target: Name): Place | undefined {
    return this.#state.places[text(target)];
  }

  #pile(target: Name, kind: string): Pile | undefined {
    return this.#state.unread.find((pile) => same(pile.target, target) && pile.kind === kind);
  }

  #drop(pile: Pile): void {
    this.#state.unread = this.#state.unread.filter((each) => each !== pile);
  }

  #group(pile: Pile, times: readonly number[]): ShownGroup {
    const { target, kind, firstVersion, version, members, createTime, updateTime } = pile;
    const { title = "", deleted = false, people = {} } = this.#place(target) ?? {};
    const names = members.map(({ actorName }) => actorName);
    const present = (people[kind] ?? []).filter(
      (person) => person.notified && person.version >= firstVersion && person.version <= version,
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

  #target(target: Name, kinds: readonly string[], viewerId: string): ShownTarget {
    const place = this.#place(target);
    const byKind = <T>(of: (kind: string) => T) =>
      Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
    const of = (kind: string) => (place?.people[kind] ?? []).toReversed();
    const told = (kind: string) => of(kind).filter((person) => person.notified);
    const { title = "", muted = false } = place ?? {};
    const hidden = {
      title,
      muted,
      counts: {},
      own: [],
      notified: byKind((kind) => (place ? told(kind).map(label) : "TARGET_NOT_FOUND")),
      numbers: byKind((kind) => of(kind).map(({ version }) => version)),
    };
    if (!place) return { ...hidden, state: "UNKNOWN", reactors: byKind(() => "TARGET_NOT_FOUND") };
    if (place.deleted) {
      return { ...hidden, state: "DELETED", reactors: byKind(() => "TARGET_DELETED") };
    }
    const standing = Object.keys(place.people).sort();
    return {
      ...hidden,
      state: "ACTIVE",
      counts: Object.fromEntries(standing.map((kind) => [kind, of(kind).length])),
      own: standing.filter((kind) => of(kind).some(({ userId }) => userId === viewerId)),
      reactors: byKind((kind) => of(kind).map(label)),
    };
  }
}

const text = ({ type, id }: Name): string => `${type}/${id}`;
const same = (a: Name, b: Name): boolean => text(a) === text(b);
const byLast = (a: Pile, b: Pile): number => b.version - a.version;
const tell = ({ title, muted, deleted }: Place): Answer => ({ title, muted, deleted });

/** A person as the tests tell them: who, and under which name. */
export const label = ({
  userId,
  actorName,
}: {
  readonly userId: string;
  readonly actorName: string;
}): string => `${userId} ${actorName}`;

/** The longest beginning that fits, without half a character. */
function shorten(name: string): string {
  let kept = [...name];
  while (Buffer.byteLength(kept.join("")) > mostBytes) kept = kept.slice(0, -1);
  return kept.join("");
}
