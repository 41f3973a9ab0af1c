/** The use cases that read reactions. */
import { type Reaction, requireActive, type TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { reactionRef, targetRef } from "../ports/records.ts";

/** The counts of a target, empty unless it is active, and the viewer's own reactions. */
export interface ReactionSummary {
  readonly target: TargetName;
  readonly state: "ACTIVE" | "UNKNOWN" | "DELETED";
  readonly counts: Readonly<Record<string, number>>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
}

/** Summarizes many targets, in the order requested. `own` is empty without a viewer. */
export async function reactionSummaries(
  { reader }: Pick<Deps, "reader">,
  targets: readonly TargetName[],
  viewerId: string | undefined,
): Promise<ReactionSummary[]> {
  const found = await reader.many(targets.map(targetRef));
  const refs = found.flatMap((target) =>
    target && !target.deleted && viewerId !== undefined
      ? Object.keys(target.counts).map((kind) => reactionRef(target, kind, viewerId))
      : [],
  );
  const rows = await reader.many(refs);
  const own = new Set(refs.filter((_, i) => rows[i] !== undefined).map(({ id }) => id));
  return targets.map((target, i) => {
    const { type, id } = target;
    const summary = { target: { type, id }, counts: {}, own: [] };
    const stored = found[i];
    if (!stored) return { ...summary, state: "UNKNOWN" };
    if (stored.deleted) return { ...summary, state: "DELETED" };
    const { counts } = stored;
    const isOwn = (kind: string) =>
      viewerId !== undefined && own.has(reactionRef(target, kind, viewerId).id);
    return { ...summary, state: "ACTIVE", counts, own: Object.keys(counts).filter(isOwn) };
  });
}

/**
 * Lists the reactions to a target, newest first. Refusals: TARGET_NOT_FOUND, TARGET_DELETED,
 * INVALID_REQUEST for a bad cursor.
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

/**
 * Lists the reactions of one person, newest first. Lags behind by moments. Refusal: INVALID_REQUEST
 * for a bad cursor.
 */
export const listUserReactions = (
  { reader }: Pick<Deps, "reader">,
  userId: string,
  page: PageRequest,
): Promise<Page<Reaction>> => reader.reactionsOfUser(userId, page);
