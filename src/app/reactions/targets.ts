/** The use cases that register, mute and delete targets. */
import { cutToBytes } from "../../domain/display-text.ts";
import { DomainError } from "../../domain/errors.ts";
import { type Inbox, replaceGroup } from "../../domain/inbox.ts";
import {
  maxTitleBytes,
  requireActive,
  requireExisting,
  requireUnreserved,
  type Target,
  type TargetName,
} from "../../domain/target.ts";
import { countedOf } from "../../domain/unread-group.ts";
import type { Deps } from "../ports/deps.ts";
import type { Transaction } from "../ports/engine.ts";
import {
  inboxRef,
  pendingPurgeRef,
  type Ref,
  targetRef,
  unreadGroupRef,
} from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";
import { withKinds } from "./known-kinds.ts";

/** A change of one target, with the deadline of the caller. */
interface TargetInput {
  readonly target: TargetName;
  readonly deadline?: number | undefined;
}

/**
 * Registers a target, so that people can react to it. Sets title and link of an existing target.
 * Refusals: INVALID_REQUEST for the reserved type, ID_REUSED when it belongs to another owner,
 * TARGET_DELETED.
 */
export async function registerTarget(
  deps: Pick<Deps, "engine">,
  input: TargetInput & { readonly ownerId: string; readonly title: string; readonly link: string },
): Promise<Target> {
  const { ownerId, link, deadline } = input;
  const { type, id } = input.target;
  requireUnreserved(input.target);
  const title = cutToBytes(input.title, maxTitleBytes);
  const { record } = await changeRecord(
    deps,
    { ref: targetRef(input.target), key: inboxRef(ownerId), expectAbsent: true, deadline },
    (found, { wall }): Target => {
      if (found && found.ownerId !== ownerId) {
        throw new DomainError("ID_REUSED", "this target was registered for another owner");
      }
      if (found) requireActive(found);
      if (found?.title === title && found.link === link) return found;
      const defaults = { counts: {}, muted: false, createTime: wall };
      const changed = { title, link, updateTime: wall };
      return { ...defaults, type, id, ownerId, ...found, ...changed };
    },
  );
  return record;
}

/** The result of a deletion. */
interface Deletion {
  readonly tombstone: Target;
  /** The owner's inbox, if unread groups were deleted. */
  readonly inbox?: Inbox | undefined;
  /** Whether the purge has still to run. */
  readonly isPending: boolean;
}

/**
 * Sets the tombstone of a target, which ends all reactions to it, and deletes its unread groups in
 * the same transaction. Then starts the workflow that purges its reactions in the background, so
 * that the caller does not wait for Temporal. Changes nothing when the target is deleted, but
 * starts a purge that has not ended. Refusals: TARGET_NOT_FOUND, INVALID_REQUEST for the reserved
 * type.
 */
export async function deleteTarget(
  deps: Pick<Deps, "engine" | "reader" | "workflows" | "owners" | "unreadCounts" | "background">,
  { target, deadline }: TargetInput,
): Promise<Target> {
  requireUnreserved(target);
  const ownerId = await deps.owners.of(target);
  const { type, id } = target;
  const refs = { target: targetRef(target), pending: pendingPurgeRef(target) };
  const deletion = await withKinds<Deletion>(deps, target, (kinds, checkKinds) => {
    const groupRefs = kinds.map((kind) => unreadGroupRef(ownerId, target, kind));
    return {
      key: inboxRef(ownerId),
      readSet: [refs.target, inboxRef(ownerId), ...groupRefs],
      expectAbsent: [refs.pending],
      deadline,
      decide(tx, { wall }) {
        const found = requireExisting(tx.get(refs.target));
        if (found.deleteTime !== undefined) {
          return { tombstone: found, isPending: tx.get(refs.pending) !== undefined };
        }
        const undeclared = checkKinds(found);
        if (undeclared) return undeclared;
        const tombstone = { ...found, updateTime: wall, deleteTime: wall };
        tx.put(refs.target, tombstone);
        tx.put(refs.pending, { target: { type, id }, ownerId, deleteTime: wall });
        return { tombstone, inbox: deleteUnreadGroups(tx, ownerId, groupRefs), isPending: true };
      },
    };
  });
  const { tombstone, inbox, isPending } = deletion;
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  if (isPending) deps.background(() => deps.workflows.startPurge(target, ownerId));
  return tombstone;
}

/**
 * Deletes the unread groups of a target and takes them off the owner's inbox. Returns the inbox;
 * undefined when there was no group.
 */
function deleteUnreadGroups(
  tx: Transaction,
  ownerId: string,
  groupRefs: readonly Ref<"unreadGroup">[],
): Inbox | undefined {
  const ref = inboxRef(ownerId);
  let changed: Inbox | undefined;
  for (const groupRef of groupRefs) {
    const group = tx.get(groupRef);
    const inbox = group && (changed ?? tx.get(ref));
    if (!inbox) continue;
    tx.delete(groupRef);
    changed = replaceGroup(inbox, countedOf(group), undefined);
  }
  if (changed) tx.put(ref, changed);
  return changed;
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
  const { record } = await changeRecord(
    deps,
    { ref: targetRef(target), key: inboxRef(ownerId), deadline },
    (found, { wall }) => {
      const active = requireActive(found);
      return active.muted === muted ? active : { ...active, muted, updateTime: wall };
    },
  );
  return record;
}

/** Throws TARGET_NOT_FOUND unless the target belongs to this owner. */
async function checkOwner(
  deps: Pick<Deps, "owners">,
  target: TargetName,
  ownerId: string,
): Promise<void> {
  if ((await deps.owners.of(target)) === ownerId) return;
  throw new DomainError("TARGET_NOT_FOUND", "there is no such target of this owner");
}
