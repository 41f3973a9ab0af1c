/**
 * Counts the recent members of a group apart from the older ones. A store may apply a transaction
 * record by record, so that a query misses a member of the last second: the number shows it.
 */

import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";

/**
 * The counts of the recent members: at least the latest 45 of a large group, and all who joined
 * within `recentMs` (docs/decisions/0020).
 */
export interface Recent {
  /** The members that joined after this version are counted. */
  readonly after: number;
  readonly count: number;
  /** The members after this later version are counted, too: they are the next ones to be kept. */
  readonly middle: number;
  readonly lateCount: number;
  /** When the member of the version `middle` joined. */
  readonly middleTime: Instant;
}

/** The version at which a member joined, and when. */
interface Joined {
  readonly version: number;
  readonly createTime: Instant;
}

/** The members are counted from a new version on after this many joins. */
const recentStep = 45;

/** A member who joined within this time is always counted: a store applies it sooner. */
const recentMs: Milliseconds = 1_000;

/** The counts of a group of this generation that a member begins. */
export const beginRecent = (generation: number, { createTime }: Joined): Recent => ({
  after: generation - 1,
  count: 1,
  middle: generation - 1,
  lateCount: 1,
  middleTime: createTime,
});

/** The counts after a member has joined, who is later than all others. */
export function withJoined(recent: Recent, { version, createTime }: Joined): Recent {
  const lateCount = recent.lateCount + 1;
  if (lateCount < recentStep || recent.middleTime > createTime - recentMs) {
    return { ...recent, count: recent.count + 1, lateCount };
  }
  const { middle } = recent;
  return { after: middle, count: lateCount, middle: version, lateCount: 0, middleTime: createTime };
}

/** The counts after the member of a version has left (-1) or come back (1). */
export const withChanged = (recent: Recent, version: number, by: 1 | -1): Recent => ({
  ...recent,
  count: recent.count + (version > recent.after ? by : 0),
  lateCount: recent.lateCount + (version > recent.middle ? by : 0),
});

/** The counts of the `count` members who stay when those up to a version are read. */
export function withoutRead(recent: Recent, version: number, count: number): Recent {
  if (version < recent.after) return recent;
  const next = { ...recent, after: version, count };
  return recent.middle < version ? { ...next, middle: version, lateCount: count } : next;
}

/** The counts where none were kept: of all members of a small group, of none of a large one. */
export function recentAnew(generation: number, memberCount: number, version: number): Recent {
  const [after, count] = memberCount <= recentStep ? [generation - 1, memberCount] : [version, 0];
  return { after, count, middle: after, lateCount: count, middleTime: 0 };
}
