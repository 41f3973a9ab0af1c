/** The use cases that register, mute and delete targets. */
import { DomainError } from "../../domain/errors.ts";
import {
  requireActive,
  requireExisting,
  type Target,
  type TargetName,
} from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import { inboxRef, targetRef } from "../ports/records.ts";

/** A change of one target, with the deadline of the caller. */
interface TargetInput {
  readonly target: TargetName;
  readonly deadline?: number | undefined;
}

/**
 * Registers a target, so that people can react to it. Sets title and link of an existing target.
 * Refusals: ID_REUSED when it belongs to another owner, TARGET_DELETED.
 */
export function registerTarget(
  deps: Pick<Deps, "engine">,
  input: TargetInput & { readonly ownerId: string; readonly title: string; readonly link: string },
): Promise<Target> {
  const { ownerId, title, link, deadline } = input;
  const { type, id } = input.target;
  const ref = targetRef(input.target);
  return deps.engine.transact({
    key: inboxRef(ownerId),
    readSet: [],
    expectAbsent: [ref],
    deadline,
    decide(tx, { wall }) {
      const found = tx.get(ref);
      if (found && found.ownerId !== ownerId) {
        throw new DomainError("ID_REUSED", "this target was registered for another owner");
      }
      if (found) requireActive(found);
      if (found?.title === title && found.link === link) return found;
      const defaults = { counts: {}, muted: false, deleted: false, createTime: wall };
      const target: Target = { ...defaults, type, id, ownerId, ...found, title, link };
      tx.put(ref, target);
      return target;
    },
  });
}

/**
 * Sets the tombstone of a target, which ends all reactions to it, then starts the workflow that
 * purges what is left. Waits for both, so that a call without an error needs no retry. Refusal:
 * TARGET_NOT_FOUND. Retryable: WORKFLOWS_UNAVAILABLE.
 */
export async function deleteTarget(
  deps: Pick<Deps, "engine" | "workflows" | "owners">,
  { target, deadline }: TargetInput,
): Promise<Target> {
  const ownerId = await deps.owners.of(target);
  const ref = targetRef(target);
  const tombstone = await deps.engine.transact({
    key: inboxRef(ownerId),
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx) {
      const found = requireExisting(tx.get(ref));
      if (found.deleted) return found;
      const deleted = { ...found, deleted: true };
      tx.put(ref, deleted);
      return deleted;
    },
  });
  await deps.workflows.startPurge(target, ownerId);
  return tombstone;
}

/**
 * Stops or resumes notifications of new reactions to a target. Unread groups stay unread. Refusals:
 * TARGET_NOT_FOUND, also for a target of another owner, TARGET_DELETED.
 */
export async function setTargetMuted(
  deps: Pick<Deps, "engine" | "owners">,
  { ownerId, target, muted, deadline }: TargetInput & { ownerId: string; muted: boolean },
): Promise<Target> {
  await checkOwner(deps, target, ownerId);
  const ref = targetRef(target);
  return deps.engine.transact({
    key: inboxRef(ownerId),
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx) {
      const found = requireActive(tx.get(ref));
      if (found.muted === muted) return found;
      const changed = { ...found, muted };
      tx.put(ref, changed);
      return changed;
    },
  });
}

/** Throws TARGET_NOT_FOUND unless the target belongs to this owner. */
export async function checkOwner(
  deps: Pick<Deps, "owners">,
  target: TargetName,
  ownerId: string,
): Promise<void> {
  if ((await deps.owners.of(target)) === ownerId) return;
  throw new DomainError("TARGET_NOT_FOUND", "there is no such target of this owner");
}
