import { type Reaction, requireActive, type TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { reactionRef, targetRef } from "../ports/records.ts";

/** How people react to a target; no counts of one that is unknown or deleted. */
export interface ReactionSummary {
  readonly target: TargetName;
  readonly state: "ACTIVE" | "UNKNOWN" | "DELETED";
  readonly counts: Readonly<Record<string, number>>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
}

/** Of many targets at once, in the order asked; without a viewer, nobody's own reactions. */
export async function reactionSummaries(
  { reader }: Pick<Deps, "reader">,
  targets: readonly TargetName[],
  viewerId: string | undefined,
): Promise<ReactionSummary[]> {
  const found = await reader.many(targets.map(targetRef));
  const asked = found.flatMap((target) =>
    target && !target.deleted && viewerId !== undefined
      ? Object.keys(target.counts).map((kind) => reactionRef(target, kind, viewerId))
      : [],
  );
  const rows = await reader.many(asked);
  const own = new Set(asked.filter((_, i) => rows[i] !== undefined).map(({ id }) => id));
  return targets.map((target, i) => {
    const { type, id } = target;
    const summary = { target: { type, id }, counts: {}, own: [] };
    const there = found[i];
    if (!there) return { ...summary, state: "UNKNOWN" };
    if (there.deleted) return { ...summary, state: "DELETED" };
    const { counts } = there;
    const isOwn = (kind: string) =>
      viewerId !== undefined && own.has(reactionRef(target, kind, viewerId).id);
    return { ...summary, state: "ACTIVE", counts, own: Object.keys(counts).filter(isOwn) };
  });
}

/**
 * Who reacts to a target, newest first. Refusals: TARGET_NOT_FOUND, TARGET_DELETED, INVALID_REQUEST
 * for a bad cursor.
 */
export async function listReactors(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
  kind: string,
  page: PageRequest,
): Promise<Page<Reaction>> {
  requireActive((await reader.get(targetRef(target)))?.value);
  return reader.reactions({ target, kind }, page);
}

/** What one person reacts to, newest first. Lags behind by moments. */
export const listUserReactions = (
  { reader }: Pick<Deps, "reader">,
  userId: string,
  page: PageRequest,
): Promise<Page<Reaction>> => reader.reactionsOfUser(userId, page);
