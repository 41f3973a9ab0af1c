/** The use cases that read reactions. */
import pLimit from "p-limit";
import { isEventKind, type ReactionKind } from "../../domain/kinds.ts";
import { unlessWithdrawn } from "../../domain/reaction.ts";
import {
  countOf,
  type Reaction,
  requireActive,
  type Target,
  type TargetName,
} from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { reactionRef, targetRef } from "../ports/records.ts";

/** How many people a count names, and how many lists of them are read at a time. */
const latestCount = 3;
const concurrency = 16;

/** The counts of a target, empty unless it is active, and the viewer's own reactions. */
export interface ReactionSummary {
  readonly target: TargetName;
  readonly state: "ACTIVE" | "UNKNOWN" | "DELETED";
  readonly counts: Readonly<Record<string, number>>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
  /** The latest reactions of each kind, latest first; of no kind unless they were requested. */
  readonly latest: Readonly<Record<string, readonly Reaction[]>>;
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
  const [own, latestOf] = await Promise.all([
    viewerId === undefined ? new Set() : ownReactions(reader, active, viewerId),
    latest ? latestReactions(reader, active) : new Map(),
  ]);
  return targets.map(({ type, id }, i) => {
    const summary = { target: { type, id }, counts: {}, own: [], latest: {} };
    const stored = found[i];
    if (!stored) return { ...summary, state: "UNKNOWN" };
    if (stored.deleteTime !== undefined) return { ...summary, state: "DELETED" };
    const kinds = reactionKinds(stored);
    const byKind = <T>(of: (kind: ReactionKind) => T) =>
      Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
    return {
      ...summary,
      state: "ACTIVE",
      counts: byKind((kind) => countOf(stored, kind)),
      own: kinds.filter((kind) => own.has(groupName(stored, kind))),
      latest: latest ? byKind((kind) => latestOf.get(groupName(stored, kind)) ?? []) : {},
    };
  });
}

/** A target and one kind of reactions to it. */
interface TargetKind {
  readonly target: TargetName;
  readonly kind: ReactionKind;
}

/** The kinds of reactions to a target, without the kinds of events. */
const reactionKinds = ({ counts }: Target): ReactionKind[] =>
  Object.keys(counts).filter((kind) => !isEventKind(kind));

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
  const own = active.filter((_, i) => unlessWithdrawn(stored[i]));
  return new Set(own.map(({ target, kind }) => groupName(target, kind)));
}

/** Reads the latest reactions of each target and kind. */
async function latestReactions(
  reader: Deps["reader"],
  active: readonly TargetKind[],
): Promise<ReadonlyMap<string, readonly Reaction[]>> {
  const page = { size: latestCount, cursor: undefined };
  const limit = pLimit(concurrency);
  const pages = await limit.map(active, ({ target, kind }) =>
    reader.reactions({ target, kind }, page),
  );
  return new Map(
    active.map(({ target, kind }, i) => [groupName(target, kind), pages[i]?.items ?? []]),
  );
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
 * Lists the reactions of one person, newest first. Lags behind by moments. Refusal: INVALID_REQUEST
 * for a bad cursor.
 */
export const listUserReactions = (
  { reader }: Pick<Deps, "reader">,
  userId: string,
  page: PageRequest,
): Promise<Page<Reaction>> => reader.reactionsOfUser(userId, page);
