/** Rebuilds an unread notification from the reactions or events that are its members. */
import pRetry from "p-retry";
import type { MemberReader, MemberRecord } from "../../src/feed/ports/notifications.ts";
import { countsActor } from "../../src/feed/rules/event.ts";
import type { StoredKind } from "../../src/feed/rules/kinds.ts";
import { join, type Member, type UnreadGroup } from "../../src/feed/rules/unread-group.ts";
import { membersNameOf } from "../../src/feed/store/member-lookups.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { Instant } from "../../src/platform/words/month.ts";
import type { TargetName } from "../../src/platform/words/target-name.ts";

/** The number of members of one read. */
const pageSize = 500;

/** A read that is throttled or not answered is retried this often: within about 10 s. */
const retries = { retries: 5, minTimeout: 200, factor: 2, randomize: true };

/** Which members a group has: those from a version on, and in a closed one up to its end. */
interface GroupRange {
  readonly ownerId: string;
  readonly target: TargetName;
  readonly kind: StoredKind;
  readonly generation: number;
  readonly endVersion?: number | undefined;
}

/** Reads all members and joins them one after another. Undefined when there is none. */
export async function rebuildGroup(
  reader: Pick<MemberReader, "membersAfter">,
  { ownerId, endVersion = Number.MAX_SAFE_INTEGER, ...name }: GroupRange,
): Promise<UnreadGroup | undefined> {
  const members = membersNameOf(ownerId, name as UnreadGroup);
  let group: UnreadGroup | undefined;
  let after = name.generation - 1;
  for (;;) {
    const page = await pRetry(() => reader.membersAfter(members, after, pageSize), {
      ...retries,
      shouldRetry: ({ error }) => error instanceof DomainError && error.retryable,
    });
    for (const member of page) {
      if (member.version > endVersion) return group;
      group = withMember(group, member, name);
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) return group;
    after = last.version;
  }
}

function withMember(
  group: UnreadGroup | undefined,
  member: MemberRecord,
  name: Pick<UnreadGroup, "target" | "kind" | "generation">,
): UnreadGroup {
  const joined = { ...join(group, { ...member, ...name }), generation: name.generation };
  const isNew = !("previousVersion" in member) || countsActor(member, name.generation);
  return { ...joined, actorCount: (group?.actorCount ?? 0) + (isNew ? 1 : 0) };
}

/** The stored group with the members of the rebuilt one. Earlier lookups of it are outdated. */
export const withMembersOf = (
  stored: UnreadGroup,
  rebuilt: UnreadGroup,
  now: Instant,
): UnreadGroup => ({
  ...rebuilt,
  leaveCount: stored.leaveCount + 1,
  leaveTime: now,
  ...(stored.closed && { closed: stored.closed }),
});

/** Whether two groups have the same counts and show the same members. */
export function isSameGroup(a: UnreadGroup, b: UnreadGroup): boolean {
  const shown = ({ memberCount, actorCount, firstMembers, latestMembers }: UnreadGroup) =>
    JSON.stringify([
      memberCount,
      actorCount,
      firstMembers.map(personOf),
      latestMembers.map(personOf),
    ]);
  return shown(a) === shown(b);
}

const personOf = ({ userId, version }: Member) => [userId, version];
