import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";

/** Names what can be reacted to. */
export interface TargetName {
  readonly type: string;
  readonly id: string;
}

/** Something that a user owns and others react to. */
export interface Target extends TargetName {
  readonly ownerId: string;
  readonly title: string;
  readonly link: string;
  /** How many people react, by kind; a kind that nobody holds any more is not in it. */
  readonly counts: Readonly<Record<string, number>>;
  /** While set, its owner is not notified of new reactions. */
  readonly muted: boolean;
  /** A tombstone: never registered again. */
  readonly deleted: boolean;
  readonly createTime: Instant;
}

/** One person's standing reaction of one kind; there is none once it is taken back. */
export interface Reaction {
  readonly target: TargetName;
  readonly kind: string;
  readonly userId: string;
  /** As it was when they reacted; for display only. */
  readonly actorName: string;
  /** The number of the owner's inbox at which it joined. */
  readonly version: number;
  /** Whether the owner was to be told: not of their own, nor while the target was muted. */
  readonly notified: boolean;
  readonly createTime: Instant;
}

/** The target, tombstone or not, that has to be there. Refusal: TARGET_NOT_FOUND. */
export function requireExisting(target: Target | undefined): Target {
  if (!target) throw new DomainError("TARGET_NOT_FOUND", "there is no such target");
  return target;
}

/** The target that has to stand. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export function requireActive(target: Target | undefined): Target {
  const found = requireExisting(target);
  if (!found.deleted) return found;
  throw new DomainError("TARGET_DELETED", `${found.type} ${found.id} was deleted`);
}

export const defaultKind = "like";

export const countOf = ({ counts }: Target, kind: string): number =>
  Object.hasOwn(counts, kind) ? (counts[kind] as number) : 0;
