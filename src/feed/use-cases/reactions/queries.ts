/** The use cases that read reactions. */
import pLimit from "p-limit";
import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { fullPage } from "../../../platform/work/full-page.ts";
import type { Deps } from "../../ports/deps.ts";
import { reactionRef, targetRef } from "../../ports/records.ts";
import type { ReactionKind } from "../../rules/kinds.ts";
import { latestOf, summaryActors } from "../../rules/latest-actors.ts";
import { activeReaction, countOf, requireActive } from "../../rules/reaction.ts";
import type { Reaction, Target } from "../../rules/target.ts";

/** How many lists of people are read at a time. */
const concurrency = 16;

/** The counts of a target, empty unless it is active, and the viewer's own reactions. */
export interface ReactionSummary {
  readonly target: TargetName;
  readonly state: "ACTIVE" | "UNKNOWN" | "DELETED";
  readonly counts: ReadonlyMap<ReactionKind, number>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
  /** The latest reactions of each kind, latest first; of no kind unless they were requested. */
  readonly latest: ReadonlyMap<ReactionKind, readonly Reaction[]>;
}

/** Summarizes many targets, in the order requested. `own` is empty without a viewer. */
export async function reactionSummaries(
  { reader }: Pick<Deps, "reader">,
  targets: readonly TargetName[],
  { viewerId, latest }: { readonly viewerId?: string | undefined; readonly latest?: boolean },
): Promise<ReactionSummary[]> {
  const found = await reader.many(targets.map(targetRef));
  const active = found.flatMap((target) =>
    target && target.deleteTime === undefined
      ? reactionKinds(target).map((kind) => ({ target, kind }))
      : [],
  );
  const [own, latestBy] = await Promise.all([
    viewerId === undefined ? new Set() : ownReactions(reader, active, viewerId),
    latest ? latestReactions(reader, active) : new Map(),
  ]);
  return targets.map(({ type, id }, i) => {
    const summary = { target: { type, id }, counts: new Map(), own: [], latest: new Map() };
    const stored = found[i];
    if (!stored) return { ...summary, state: "UNKNOWN" };
    if (stored.deleteTime !== undefined) return { ...summary, state: "DELETED" };
    const kinds = reactionKinds(stored);
    const byKind = <T>(of: (kind: ReactionKind) => T) =>
      new Map(kinds.map((kind) => [kind, of(kind)]));
    return {
      ...summary,
      state: "ACTIVE",
      counts: byKind((kind) => countOf(stored, kind)),
      own: kinds.filter((kind) => own.has(groupName(stored, kind))),
      latest: latest ? byKind((kind) => latestBy.get(groupName(stored, kind)) ?? []) : new Map(),
    };
  });
}

/** A target and one kind of reactions to it. */
interface TargetKind {
  readonly target: Target;
  readonly kind: ReactionKind;
}

/** The kinds of reactions to a target. */
const reactionKinds = ({ counts }: Target): ReactionKind[] => Object.keys(counts);

const groupName = ({ type, id }: TargetName, kind: ReactionKind): string => `${type}#${id}#${kind}`;

/** Returns the names of the groups in which the viewer has an active reaction. */
async function ownReactions(
  reader: Deps["reader"],
  active: readonly TargetKind[],
  viewerId: string,
): Promise<ReadonlySet<string>> {
  const stored = await reader.many(
    active.map(({ target, kind }) => reactionRef(target, kind, viewerId)),
  );
  const own = active.filter((_, i) => activeReaction(stored[i]));
  return new Set(own.map(({ target, kind }) => groupName(target, kind)));
}

/**
 * Reads the latest reactions of each target and kind. Targets keep the ids of these people, so that
 * their records are read in batches. A query reads those of a kind of which too few are kept, or
 * whose people have changed since the target was read.
 */
async function latestReactions(
  reader: Deps["reader"],
  active: readonly TargetKind[],
): Promise<ReadonlyMap<string, readonly Reaction[]>> {
  const kept = await keptReactions(reader, active);
  const page = { size: summaryActors, cursor: undefined };
  const limit = pLimit(concurrency);
  const all = await limit.map(active, async ({ target, kind }, i) => {
    const known = kept[i];
    return known ?? (await reader.reactions({ target, kind }, page)).items;
  });
  return new Map(active.map(({ target, kind }, i) => [groupName(target, kind), all[i] ?? []]));
}

/** The latest reactions by the ids that the targets keep; undefined where they are not enough. */
async function keptReactions(
  reader: Deps["reader"],
  active: readonly TargetKind[],
): Promise<(Reaction[] | undefined)[]> {
  const wanted = active.map(({ target, kind }) => {
    const known = latestOf(target.latest, kind).slice(0, summaryActors);
    return known.length < Math.min(summaryActors, countOf(target, kind)) ? [] : known;
  });
  const refs = active.flatMap(({ target, kind }, i) =>
    (wanted[i] ?? []).map(({ userId }) => reactionRef(target, kind, userId)),
  );
  const stored = (await reader.many(refs)).values();
  return wanted.map((known) => {
    const found = known.flatMap(({ version }) => {
      const reaction = activeReaction(stored.next().value);
      return reaction?.version === version ? [reaction] : [];
    });
    return found.length > 0 && found.length === known.length ? found : undefined;
  });
}

/**
 * Lists the reactions to a target, newest first. Refusals: TARGET_NOT_FOUND, TARGET_DELETED,
 * INVALID_REQUEST for a bad cursor.
 */
export async function listTargetReactions(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
  kind: ReactionKind,
  page: PageRequest,
): Promise<Page<Reaction>> {
  requireActive((await reader.get(targetRef(target)))?.value);
  return reader.reactions({ target, kind }, page);
}

/**
 * Lists the reactions of one person, newest first, without those to deleted targets, in full pages
 * (`fullPage`). If any `kinds` are given, only these. Lags behind by moments. Refusal:
 * INVALID_REQUEST for a bad cursor.
 */
export const listUserReactions = (
  { reader }: Pick<Deps, "reader">,
  userId: string,
  kinds: readonly string[],
  page: PageRequest,
): Promise<Page<Reaction>> =>
  fullPage(page, {
    read: (next) => reader.reactionsOfUser(userId, next),
    async show(found) {
      const wanted = found.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
      const targets = await reader.many(wanted.map(({ target }) => targetRef(target)));
      return wanted.filter((_, i) => targets[i] && targets[i].deleteTime === undefined);
    },
    cursorAfter: reader.cursorOfUserAfter,
  });
