/** How a target's latest people are stored: as many as there is room for in an item of 1 KB. */

import { type Item, N, num, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { byteLength } from "../../../platform/words/display-text.ts";
import { countIn, type ReactionKind } from "../../rules/kinds.ts";
import {
  keptActors,
  type LatestActor,
  type LatestActors,
  latestOf,
  summaryActors,
} from "../../rules/latest-actors.ts";
import type { Target } from "../../rules/target.ts";

/**
 * Name, owner, counts, title, link and latest people take so many bytes at most, so that 1 KB has
 * room for the other attributes.
 */
const roomBytes = 960;

/** The bytes of a count beside the name of its kind. */
const countBytes = 10;

/** The fields of a target whose attributes share the item with the latest people. */
type Beside = Pick<Target, "type" | "id" | "ownerId" | "counts" | "title" | "link">;

/**
 * By kind ids and versions in base 36: `ann#1k#bo#1j`. No user id contains `#`. What is read again
 * may be fewer people than were put, but always the first ones of all.
 */
export function encodeActors(beside: Beside, latest: LatestActors): Item {
  const kinds = [...fitActors(beside, latest)].map(([kind, kept]) => {
    const texts = kept.flatMap(({ userId, version }) => [userId, version.toString(36)]);
    return [kind, S(texts.join("#"))];
  });
  return {
    y: N(latest.time),
    ...(kinds.length > 0 && { a: { M: Object.fromEntries(kinds) } }),
  };
}

export function decodeActors(item: Item): LatestActors | undefined {
  if (!item.y) return undefined;
  const kinds = Object.entries(item.a?.M ?? {}).map(([kind, { S: stored = "" }]) => {
    const pairs = stored.matchAll(/([^#]+)#([^#]+)/g);
    const known = Array.from(pairs, ([, userId = "", version = ""]) => ({
      userId,
      version: Number.parseInt(version, 36),
    }));
    return [kind, known];
  });
  return { time: num(item, "y"), byKind: Object.fromEntries(kinds) };
}

/**
 * The people for whom the texts and counts of the target leave room. It goes first to the kinds of
 * which all people of a summary are known, so that the fewest kinds have to be queried, and next to
 * the kind of the latest reaction, which fills up by the next ones. Only then come the people
 * beyond a summary.
 */
function fitActors(
  { type, id, ownerId, counts, title, link }: Beside,
  latest: LatestActors,
): ReadonlyMap<ReactionKind, readonly LatestActor[]> {
  const kinds: ReactionKind[] = Object.keys(counts);
  const counted = kinds.reduce((sum, kind) => sum + byteLength(kind) + countBytes, 0);
  const texts = type.length + id.length + ownerId.length + byteLength(title) + byteLength(link);
  let left = roomBytes - counted - texts;
  const rankOf = (kind: ReactionKind) => {
    const known = latestOf(latest, kind);
    const isWhole = known.length >= Math.min(summaryActors, countIn(counts, kind));
    return isWhole ? Number.POSITIVE_INFINITY : (known[0]?.version ?? 0);
  };
  const inTurn = kinds.map((kind) => ({ kind, rank: rankOf(kind) })).sort(byRank);
  const fitting = new Map<ReactionKind, readonly LatestActor[]>();
  for (let most = summaryActors; most <= keptActors; most++) {
    for (const { kind } of inTurn) {
      const kept = [...(fitting.get(kind) ?? [])];
      for (const actor of latestOf(latest, kind).slice(kept.length, most)) {
        const bytes = bytesOf(actor) + (kept.length === 0 ? byteLength(kind) : 0);
        if (bytes > left) break;
        kept.push(actor);
        left -= bytes;
      }
      if (kept.length > 0) fitting.set(kind, kept);
    }
  }
  return fitting;
}

/** The highest rank first. Two infinite ones are equal, so that both stay in their order. */
const byRank = (a: { readonly rank: number }, b: { readonly rank: number }): number =>
  a.rank === b.rank ? 0 : b.rank - a.rank;

/** An id and a version in base 36, each with a separator. */
const bytesOf = ({ userId, version }: LatestActor): number =>
  userId.length + version.toString(36).length + 2;
