/** The state of the reactions oracle, and what readers see of it. */
import {
  type Badge,
  isEvents,
  label,
  lineText,
  recordText,
  type Selection,
  type Shown,
  type ShownLine,
  type ShownTarget,
  type TargetName,
  textOf,
} from "./reactions-requests.ts";

/** One reaction or event of an actor. */
export interface Member {
  readonly userId: string;
  readonly displayName: string;
  readonly version: number;
  readonly time: number;
}

/** A member that is counted, whether it notified the owner or not. */
export interface StoredReaction extends Member {
  readonly notified: boolean;
  /** Until then the same person does not notify the owner again. */
  readonly quietUntil?: number;
}

export interface TargetState {
  title: string;
  muted: boolean;
  deleted: boolean;
  /** The kinds at the time of the deletion: every purge reads them. */
  purgedKinds: string[];
  /** By kind of line, in the order of the versions. */
  records: Record<string, StoredReaction[]>;
  /** By kind and user: until when a reaction that was taken back keeps the person quiet. */
  quiet: Record<string, number>;
}

export interface Line {
  readonly target: TargetName;
  readonly kind: string;
  /** In the order of the versions. */
  members: Member[];
}

export interface ReadLine extends Line {
  readonly readTime: number;
  readonly expireTime: number;
}

export interface State {
  version: number;
  seenVersion: number;
  allMuted: boolean;
  mutedKinds: string[];
  mutedPeople: string[];
  /** By event id. */
  events: Record<string, { request: string; notified: boolean; expireTime: number }>;
  targets: Record<string, TargetState>;
  unread: Line[];
  read: ReadLine[];
}

export const emptyState: State = {
  version: 0,
  seenVersion: 0,
  allMuted: false,
  mutedKinds: [],
  mutedPeople: [],
  events: {},
  targets: {},
  unread: [],
  read: [],
};

/** A badge shows more than so many new lines as "99+". */
const mostUnseen = 99;

const lastOf = ({ members }: Line): number => (members.at(-1) as Member).version;

export function badgeOf({ version, seenVersion, unread }: State): Badge {
  const unseen = unread.filter((line) => lastOf(line) > seenVersion).length;
  return {
    version,
    notificationCount: unread.length,
    actorCount: unread.reduce((sum, { members }) => sum + members.length, 0),
    unseenNotificationCount: Math.min(unseen, mostUnseen),
  };
}

/** What readers see at a time. */
export function shownOf(state: State, selection: Selection, now: number): Shown {
  const { allMuted, mutedKinds, mutedPeople } = state;
  const newestFirst = (a: Line, b: Line) => lastOf(b) - lastOf(a);
  const unread = state.unread
    .toSorted(newestFirst)
    .map((line) => lineOf(state, line, lastOf(line) <= state.seenVersion, []));
  const read = state.read
    .filter(({ target, expireTime }) => expireTime > now && !stateOf(state, target)?.deleted)
    .toSorted(newestFirst)
    .map((line) => lineOf(state, line, true, [line.readTime, line.expireTime]));
  return {
    badge: badgeOf(state),
    unread,
    read,
    merged: [...unread, ...read].sort((a, b) => b.version - a.version).map(lineText),
    preferences: { allMuted, mutedKinds: mutedKinds.toSorted() },
    mutedPeople: mutedPeople.toSorted(),
    targets: selection.targets.map((target) => targetOf(stateOf(state, target), selection)),
  };
}

export const stateOf = ({ targets }: State, target: TargetName): TargetState | undefined =>
  targets[textOf(target)];

function lineOf(state: State, line: Line, seen: boolean, readTimes: readonly number[]): ShownLine {
  const { target, kind, members } = line;
  const { title = "", records = {} } = stateOf(state, target) ?? {};
  const version = lastOf(line);
  const from = (members[0] as Member).version;
  const present = (records[kind] ?? []).filter(
    (record) => record.notified && record.version >= from && record.version <= version,
  );
  const first = members.slice(0, 2);
  const latest = members.slice(-3).reverse();
  const named = [...first, ...latest];
  return {
    target: { ...target, title },
    kind,
    version,
    actorCount: members.length,
    seen,
    firstActors: first.map(label),
    latestActors: latest.map(label),
    actors: present.reverse().map(label),
    versions: named.map((member) => member.version),
    times: [...named.map(({ time }) => time), ...readTimes],
  };
}

function targetOf(
  state: TargetState | undefined,
  { kinds, eventKinds, viewerId }: Selection,
): ShownTarget {
  const by = <T>(of: (kind: string) => T, all = kinds) =>
    Object.fromEntries(all.map((kind) => [kind, of(kind)]));
  const of = (kind: string) => (state?.records[kind] ?? []).toReversed();
  const { title = "", muted = false } = state ?? {};
  const records = by((kind) => of(kind).map(recordText), [...kinds, ...eventKinds]);
  const shown = { title, muted, counts: {}, own: [], recent: {}, records };
  if (!state) return { ...shown, state: "UNKNOWN", reactors: by(() => "TARGET_NOT_FOUND") };
  if (state.deleted) return { ...shown, state: "DELETED", reactors: by(() => "TARGET_DELETED") };
  const reacted = Object.keys(state.records)
    .filter((kind) => !isEvents(kind))
    .sort();
  return {
    ...shown,
    state: "ACTIVE",
    counts: by((kind) => of(kind).length, reacted),
    own: reacted.filter((kind) => of(kind).some(({ userId }) => userId === viewerId)),
    recent: by((kind) => of(kind).slice(0, 3).map(label), reacted),
    reactors: by((kind) => of(kind).map(label)),
  };
}
