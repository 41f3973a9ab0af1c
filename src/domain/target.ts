/** Targets, reactions to them, and the guards that require a target to exist or to be active. */
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";

/** Names a target. */
export interface TargetName {
  readonly type: string;
  readonly id: string;
}

/** A thing that a user owns and that people react to. */
export interface Target extends TargetName {
  readonly ownerId: string;
  readonly title: string;
  readonly link: string;
  /** The number of reactions by kind. A kind without reactions has no property. */
  readonly counts: Readonly<Record<string, number>>;
  /** While it is true, new reactions do not notify the owner. */
  readonly muted: boolean;
  /** True of a tombstone, which is never registered again. */
  readonly deleted: boolean;
  readonly createTime: Instant;
}

/** An active reaction of one person, of one kind. Taking the reaction back deletes it. */
export interface Reaction {
  readonly target: TargetName;
  readonly kind: string;
  readonly userId: string;
  /** The person's name at the time of the reaction; for display only. */
  readonly actorName: string;
  /** The version of the owner's inbox at which the reaction was made. */
  readonly version: number;
  /** Whether it notified the owner: not if it is the owner's own, or if the target was muted. */
  readonly notified: boolean;
  readonly createTime: Instant;
}

export const defaultKind = "like";

/** Returns the number of reactions of one kind. */
export const countOf = ({ counts }: Target, kind: string): number =>
  Object.hasOwn(counts, kind) ? (counts[kind] as number) : 0;

/** Requires a target that is not deleted. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export function requireActive(target: Target | undefined): Target {
  const existing = requireExisting(target);
  if (!existing.deleted) return existing;
  throw new DomainError("TARGET_DELETED", `${existing.type} ${existing.id} was deleted`);
}

/** Requires a target or its tombstone. Refusal: TARGET_NOT_FOUND. */
export function requireExisting(target: Target | undefined): Target {
  if (!target) throw new DomainError("TARGET_NOT_FOUND", "there is no such target");
  return target;
}
