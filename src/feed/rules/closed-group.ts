/** Closed groups: unread ones that take in nobody new, and the ranges by which they are found. */

import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { type Inbox, replaceGroup } from "./inbox.ts";
import type { StoredKind } from "./kinds.ts";
import { recentAnew } from "./recent-members.ts";
import {
  inboxCountsOf,
  join,
  type Member,
  type ReadGroup,
  type UnreadGroup,
  versionOf,
} from "./unread-group.ts";

/** Which versions the members of a closed group have. */
export interface ClosedRange {
  readonly kind: StoredKind;
  readonly generation: number;
  /** The version of the last member that the group has had. */
  readonly endVersion: number;
}

/** A target has at most this many closed groups of one owner, so that a transaction can end all. */
export const maxClosedGroups = 32;

/** The range of a kind with a version. */
export const closedAt = (
  ranges: readonly ClosedRange[],
  kind: StoredKind,
  version: number,
): ClosedRange | undefined =>
  ranges.find(
    (each) => each.kind === kind && each.generation <= version && version <= each.endVersion,
  );

/** The ranges after an unread group has changed, begun or ended; the same list if unchanged. */
export function replaceRange(
  ranges: readonly ClosedRange[],
  before: UnreadGroup | undefined,
  after: UnreadGroup | undefined,
): readonly ClosedRange[] {
  if (before?.closed && after?.closed && before.generation === after.generation) return ranges;
  const isBefore = ({ kind, generation }: ClosedRange) =>
    before?.closed !== undefined && kind === before.kind && generation === before.generation;
  const others = ranges.filter((each) => !isBefore(each));
  if (!after?.closed) return others;
  const { kind, generation, closed } = after;
  return [...others, { kind, generation, endVersion: closed.endVersion }];
}

/** Whether the first member of an open group came in longer ago than new ones still come in. */
export const isTooOld = (
  { firstMembers }: UnreadGroup,
  now: Instant,
  regroupAfterMs: Milliseconds | undefined,
): boolean =>
  regroupAfterMs !== undefined && (firstMembers[0] as Member).createTime < now - regroupAfterMs;

/** The open group as a closed one. */
export const close = (group: UnreadGroup): UnreadGroup => ({
  ...group,
  closed: { endVersion: versionOf(group), wasRead: false },
});

/** Closes an open group. A new member begins another one beside it. */
export function regroup(inbox: Inbox, open: UnreadGroup, member: Parameters<typeof join>[1]) {
  const group = join(undefined, member);
  const next = { ...inbox, closedCount: inbox.closedCount + 1 };
  const after = replaceGroup(next, undefined, inboxCountsOf(group));
  return { inbox: after, group, closed: close(open) };
}

/** The unread group that a read one becomes. `version` is larger than any it has had. */
export function toUnread(
  { readTime: _, expireTime: __, ...group }: ReadGroup,
  { version, now }: { readonly version: number; readonly now: Instant },
): UnreadGroup {
  const endVersion = versionOf(group);
  return {
    ...group,
    leaveCount: version,
    leaveTime: now,
    recent: recentAnew(group.generation, group.memberCount, endVersion),
    closed: { endVersion, wasRead: true },
  };
}
