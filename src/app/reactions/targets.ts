import { DomainError } from "../../domain/errors.ts";
import {
  requireActive,
  requireExisting,
  type Target,
  type TargetName,
} from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import { inboxRef, targetRef } from "../ports/records.ts";

/** A change of one target, and how long the caller waits. */
interface TargetInput {
  readonly target: TargetName;
  readonly deadline?: number | undefined;
}

/**
 * Lets people react to something. Sets title and link, also of a target that is there. Refusals:
 * ID_REUSED when somebody else owns it, TARGET_DELETED.
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
      const fresh = { counts: {}, muted: false, deleted: false, createTime: wall };
      const target: Target = { ...fresh, type, id, ownerId, ...found, title, link };
      tx.put(ref, target);
      return target;
    },
  });
}

/**
 * Ends all reactions to a target for good, then starts the workflow that removes what is left of
 * them. The answer waits for both, so that a caller who has it need not ask again. Refusal:
 * TARGET_NOT_FOUND.
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
      const dead = { ...found, deleted: true };
      tx.put(ref, dead);
      return dead;
    },
  });
  await deps.workflows.startPurge(target, ownerId);
  return tombstone;
}

/**
 * Stops or resumes notifications from a target. What is unread stays so. Refusals:
 * TARGET_NOT_FOUND, also for a target of somebody else, TARGET_DELETED.
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

/** Throws TARGET_NOT_FOUND unless the target is this owner's. */
export async function checkOwner(
  deps: Pick<Deps, "owners">,
  target: TargetName,
  ownerId: string,
): Promise<void> {
  if ((await deps.owners.of(target)) === ownerId) return;
  throw new DomainError("TARGET_NOT_FOUND", "there is no such target of this owner");
}
