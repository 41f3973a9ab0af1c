/** Counts the points that a program grants with few approvals within a day. */

import type { Instant } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { approvalsFor, type BulkRules } from "../../points/rules/bulk-rules.ts";

/** The points of a revision that are counted, by the hour and by the approvals that it needs. */
export interface TierPoints {
  /** Hours since 1970. */
  readonly hour: number;
  readonly approvalCount: number;
  readonly points: Points;
}

/** The points that a program counts at present: one entry for each hour and number of approvals. */
export interface PointsWindow {
  /** The latest hour in which something was counted; never falls, whatever the clock does. */
  readonly hour: number;
  readonly tierPoints: readonly TierPoints[];
}

const hourMs = 3_600_000;

/**
 * An hour counts until the same hour of the next day begins. A job that runs every night in the
 * same hour therefore never meets its points of the night before.
 */
const windowHours = 24;

/** The most approvals that a tier can need. Points that need so many are not counted. */
const mostApprovals = 2;

const emptyWindow: PointsWindow = { hour: 0, tierPoints: [] };

/** Returns the window at `now`, without the hours that do not count any more. */
export function windowAt(window: PointsWindow = emptyWindow, now: Instant): PointsWindow {
  const hour = Math.max(window.hour, Math.floor(now / hourMs));
  return { hour, tierPoints: window.tierPoints.filter((each) => each.hour > hour - windowHours) };
}

/**
 * How many approvals so many more points need: the fewest for which they and all that is counted
 * under as many approvals or fewer are within a tier. So twenty sheets just below a tier are one
 * sheet above it. A revision without further points, such as a reversal, needs no approval for the
 * counted ones.
 */
export function approvalsWithin(rules: BulkRules, window: PointsWindow, points: Points): number {
  let needed = approvalsFor(rules, points);
  while (points > 0 && needed < approvalsFor(rules, points + pointsUnder(window, needed)))
    needed += 1;
  return needed;
}

/** The points that are counted under so many approvals or fewer. */
const pointsUnder = ({ tierPoints }: PointsWindow, approvalCount: number): Points =>
  tierPoints.reduce(
    (sum, each) => sum + (each.approvalCount <= approvalCount ? each.points : 0),
    0,
  );

/**
 * The entry for so many points at the hour of the window. Undefined for none, and for points that
 * need the most approvals.
 */
export const tierPointsOf = (
  { hour }: PointsWindow,
  approvalCount: number,
  points: Points,
): TierPoints | undefined =>
  approvalCount < mostApprovals && points > 0 ? { hour, approvalCount, points } : undefined;

/** Adds points to a window; nothing where their hour does not count any more. */
export function count(window: PointsWindow, more: TierPoints): PointsWindow {
  if (more.hour <= window.hour - windowHours) return window;
  const same = window.tierPoints.find(isOfSame(more));
  const others = window.tierPoints.filter((each) => each !== same);
  const points = (same?.points ?? 0) + more.points;
  return { ...window, tierPoints: points > 0 ? [...others, { ...more, points }] : others };
}

/** Takes back what was counted. */
export const uncount = (window: PointsWindow, tierPoints: TierPoints): PointsWindow =>
  window.tierPoints.some(isOfSame(tierPoints))
    ? count(window, { ...tierPoints, points: -tierPoints.points })
    : window;

/** Takes back what a run has counted besides the points that it has granted. */
export const withGranted = (
  window: PointsWindow,
  tierPoints: TierPoints,
  grantedPoints: Points,
): PointsWindow =>
  uncount(window, { ...tierPoints, points: Math.max(tierPoints.points - grantedPoints, 0) });

const isOfSame =
  ({ hour, approvalCount }: TierPoints) =>
  (each: TierPoints): boolean =>
    each.hour === hour && each.approvalCount === approvalCount;
