/** Rebuilds the key of a capture from the entries of its hold. */

import { annotationsOf } from "../../src/platform/words/annotations.ts";
import type { Points } from "../../src/platform/words/units.ts";
import { oneOf, requestHash } from "../../src/platform/work/idempotency.ts";
import type { EventKey, LedgerEntry } from "../../src/points/rules/ledger.ts";

/**
 * Returns the key of a capture, by the entries of its hold. A capture of all that is left may have
 * named these points or not, and said that more captures follow or not.
 */
export function rebuildCapture(
  entry: LedgerEntry,
  entries: readonly LedgerEntry[],
): Pick<EventKey, "hash" | "availablePoints" | "earlierPoints"> {
  const { points, caller, number } = entry;
  const before = entries.filter(({ number: other }) => other < number);
  const [held] = before;
  const earlierPoints = pointsOf(before.filter(({ type }) => type === "CAPTURED"));
  const left = (held?.points ?? 0) - earlierPoints - points;
  const hasReleased = entries.some((each) => isRestOf(entry, each));
  const last = hasReleased ? (entries.at(-1) as LedgerEntry) : entry;
  const hash = (parameters: { readonly points?: Points; readonly moreFollow: boolean }) =>
    requestHash("capture", caller, { ...parameters, ...annotationsOf(entry) });
  const requests = [true, false].flatMap((moreFollow) => [{ points, moreFollow }, { moreFollow }]);
  return {
    hash: left === 0 ? oneOf(requests.map(hash)) : hash({ points, moreFollow: !hasReleased }),
    availablePoints: last.availablePoints,
    earlierPoints,
  };
}

export const pointsOf = (entries: readonly LedgerEntry[]): Points =>
  entries.reduce((total, { points }) => total + points, 0);

/**
 * Whether a capture has released the rest, in one change: the release follows it directly, and has
 * its time and its caller.
 */
export const isRestOf = (
  capture: LedgerEntry,
  { type, number, createTime, caller }: LedgerEntry,
): boolean =>
  type === "RELEASED" &&
  number === capture.number + 1 &&
  createTime === capture.createTime &&
  caller.service === capture.caller.service;
