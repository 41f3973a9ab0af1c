/** The people who have reacted to a target last, which its record keeps to be shown. */
import type { Instant } from "../../platform/words/month.ts";
import type { ReactionKind, StoredKind } from "./kinds.ts";

/** A person who reacts with a kind, and the version of the reaction. */
export interface LatestActor {
  readonly userId: string;
  readonly version: number;
}

/** The latest reactions to a target. */
export interface LatestActors {
  /**
   * When somebody has last reacted or unreacted. Only servers of the version before
   * this one still read it.
   */
  readonly time: Instant;
  /** By kind the people with the latest reactions, latest first: all of them, or the first ones. */
  readonly byKind: Readonly<Record<ReactionKind, readonly LatestActor[]>>;
}

/** How many people a summary names of each kind. */
export const summaryActors = 3;

/** Three more people are kept, so that the next ones are known when some of the latest leave. */
export const keptActors = 2 * summaryActors;

/** The latest people of one kind; empty if none are known. */
export const latestOf = (
  latest: LatestActors | undefined,
  kind: StoredKind,
): readonly LatestActor[] =>
  latest && Object.hasOwn(latest.byKind, kind) ? (latest.byKind[kind as ReactionKind] ?? []) : [];

/**
 * Adds a person who reacts. `count` is the number of reactions of the kind before. A reaction that
 * `isNewest` follows all others; one that has come back to its old version may not be among the
 * latest.
 */
export function withActor(
  known: readonly LatestActor[],
  { userId, version }: LatestActor,
  { count, isNewest }: { readonly count: number; readonly isNewest: boolean },
): readonly LatestActor[] {
  const isAmong = version > (known.at(-1)?.version ?? Number.POSITIVE_INFINITY);
  if (!isNewest && !isAmong && known.length < count) return known;
  const all = [...known, { userId, version }].sort((a, b) => b.version - a.version);
  return all.slice(0, keptActors);
}

/**
 * Removes a person who leaves. Nobody is read in the place: who follows is one of the people kept,
 * and when too few of them are left, a summary reads the reactions themselves.
 */
export const withoutActor = (
  known: readonly LatestActor[],
  userId: string,
): readonly LatestActor[] => known.filter((each) => each.userId !== userId);
