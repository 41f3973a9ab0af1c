/** The people who have reacted to a target last, as far as there is room for them in its record. */
import { byteLength } from "../../platform/words/display-text.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { countIn, type KindCounts, type ReactionKind, type StoredKind } from "./kinds.ts";

/** A person who reacts with a kind, and the version of the reaction. */
export interface LatestActor {
  readonly userId: string;
  readonly version: number;
}

/** The latest reactions to a target. */
export interface LatestActors {
  /** When somebody has last reacted or taken a reaction back. */
  readonly time: Instant;
  /** By kind the people with the latest reactions, latest first: all of them, or the first ones. */
  readonly byKind: Readonly<Record<ReactionKind, readonly LatestActor[]>>;
}

/** How many people a summary names of each kind. */
export const summaryActors = 3;

/** Three more are kept, so that those who follow are known when some of the latest ones leave. */
export const keptActors = 2 * summaryActors;

/**
 * What the counts of a target, its title, its link and its latest people take together at most, in
 * bytes as stored.
 */
const roomBytes = 812;

/** What a count takes beside the name of its kind. */
const countBytes = 10;

/** The transactions of reactions that are older than this are applied in the whole store. */
const appliedMs: Milliseconds = 1_000;

/** The latest people of one kind; empty if none are known. */
export const latestOf = (
  latest: LatestActors | undefined,
  kind: StoredKind,
): readonly LatestActor[] => knownOf(latest?.byKind ?? {}, kind);

const knownOf = (byKind: LatestActors["byKind"], kind: StoredKind): readonly LatestActor[] =>
  Object.hasOwn(byKind, kind) ? (byKind[kind as ReactionKind] ?? []) : [];

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
 * Whether the latest people of a kind have to be read when this person leaves, because too few
 * remain of `count`. They are not read while people keep coming and leaving, because a query may
 * miss a reaction whose transaction is being applied; then the next reactions fill the list.
 */
export function needsActors(
  latest: LatestActors | undefined,
  kind: StoredKind,
  {
    userId,
    count,
    now,
  }: { readonly userId: string; readonly count: number; readonly now: Instant },
): boolean {
  const known = latestOf(latest, kind);
  const remaining = known.filter((each) => each.userId !== userId);
  const isQuiet = latest !== undefined && latest.time <= now - appliedMs;
  const isTooFew = remaining.length < Math.min(summaryActors, count - 1);
  return isQuiet && remaining.length < known.length && isTooFew;
}

/** What shares the record of a target with the latest people. */
interface Beside {
  readonly counts: KindCounts;
  readonly title: string;
  readonly link: string;
}

/**
 * Cuts the latest people to what counts, title and link leave free. Room goes first to the kinds of
 * which all people of a summary are known, so that the fewest kinds have to be queried, and next to
 * the kind that has `changed`, which fills up by its next reactions. Only then come the people
 * beyond a summary.
 */
export function fitActors(
  byKind: LatestActors["byKind"],
  { counts, title, link }: Beside,
  changed?: StoredKind,
): LatestActors["byKind"] {
  const kinds: ReactionKind[] = Object.keys(counts);
  const taken = kinds.reduce((sum, kind) => sum + kind.length + countBytes, 0);
  let left = roomBytes - byteLength(title) - byteLength(link) - taken;
  const isWhole = (kind: ReactionKind) =>
    knownOf(byKind, kind).length >= Math.min(summaryActors, countIn(counts, kind));
  const rankOf = (kind: ReactionKind) => (isWhole(kind) ? 0 : kind === changed ? 1 : 2);
  const inTurn = kinds.toSorted((a, b) => rankOf(a) - rankOf(b));
  const fitting = new Map<ReactionKind, readonly LatestActor[]>();
  for (let most = summaryActors; most <= keptActors; most++) {
    for (const kind of inTurn) {
      const kept = [...(fitting.get(kind) ?? [])];
      for (const actor of knownOf(byKind, kind).slice(kept.length, most)) {
        const bytes = bytesOf(actor) + (kept.length === 0 ? kind.length : 0);
        if (bytes > left) break;
        kept.push(actor);
        left -= bytes;
      }
      fitting.set(kind, kept);
    }
  }
  return Object.fromEntries([...fitting].filter(([, kept]) => kept.length > 0));
}

/** An id and a version in base 36, each with a separator. */
const bytesOf = ({ userId, version }: LatestActor): number =>
  userId.length + version.toString(36).length + 2;
