import { DomainError } from "../../domain/errors.ts";
import { registered, standing, type Target, type TargetName } from "../../domain/reaction.ts";
import { type Deps, inboxRef, targetRef } from "../ports/deps.ts";

/** A change of one target, and how long the caller waits. */
export interface TargetInput {
  readonly target: TargetName;
  readonly deadline?: number | undefined;
}

/**
 * Lets people react to something. Sets title and link, also of a target that is there. Refusals:
 * ID_REUSED when somebody else owns it, TARGET_DELETED.
 */
export function registerTarget(
  deps: Deps,
  input: TargetInput & { readonly owner: string; readonly title: string; readonly link: string },
): Promise<Target> {
  const { owner, title, link, deadline } = input;
  const { type, id } = input.target;
  const ref = targetRef(input.target);
  return deps.engine.run({
    key: inboxRef(owner),
    reads: [],
    absent: [ref],
    deadline,
    decide(view, { wall }) {
      const found = view.get(ref);
      if (found && found.owner !== owner) {
        throw new DomainError("ID_REUSED", "this target was registered for another owner");
      }
      if (found) standing(found);
      if (found?.title === title && found.link === link) return found;
      const fresh = { counts: {}, muted: false, deleted: false, createTime: wall };
      const target: Target = { ...fresh, type, id, owner, ...found, title, link };
      view.put(ref, target);
      return target;
    },
  });
}

/**
 * Ends all reactions to a target for good, then starts the workflow that removes what is left of
 * them. The answer waits for both, so that a caller who has it need not ask again. Refusal:
 * TARGET_NOT_FOUND.
 */
export async function deleteTarget(deps: Deps, { target, deadline }: TargetInput): Promise<Target> {
  const owner = await deps.owners.of(target);
  const ref = targetRef(target);
  const tombstone = await deps.engine.run({
    key: inboxRef(owner),
    reads: [ref],
    absent: [],
    deadline,
    decide(view) {
      const found = registered(view.get(ref));
      if (found.deleted) return found;
      const dead = { ...found, deleted: true };
      view.put(ref, dead);
      return dead;
    },
  });
  await deps.workflows.startRemoval(target, owner);
  return tombstone;
}

/**
 * Stops or resumes notifications from a target. What is unread stays so. Refusals:
 * TARGET_NOT_FOUND, also for a target of somebody else, TARGET_DELETED.
 */
export async function setTargetMuted(
  deps: Deps,
  { owner, target, muted, deadline }: TargetInput & { owner: string; muted: boolean },
): Promise<Target> {
  await checkOwner(deps, target, owner);
  const ref = targetRef(target);
  return deps.engine.run({
    key: inboxRef(owner),
    reads: [ref],
    absent: [],
    deadline,
    decide(view) {
      const found = standing(view.get(ref));
      if (found.muted === muted) return found;
      const changed = { ...found, muted };
      view.put(ref, changed);
      return changed;
    },
  });
}

/** Throws TARGET_NOT_FOUND unless the target is this owner's. */
export async function checkOwner(deps: Deps, target: TargetName, owner: string): Promise<void> {
  if ((await deps.owners.of(target)) === owner) return;
  throw new DomainError("TARGET_NOT_FOUND", "there is no such target of this owner");
}
