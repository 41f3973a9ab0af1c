/** The use cases that register, mute and delete targets. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import { maxTitleBytes, readDisplayText } from "../../../platform/words/display-text.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupsRef,
  inboxRef,
  mutedTargetRef,
  pendingPurgeRef,
  targetRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import type { Inbox } from "../../rules/inbox.ts";
import { requireActive, requireExisting, requireUnreserved } from "../../rules/reaction.ts";
import type { Target } from "../../rules/target.ts";
import { closedRefsOf } from "../notifications/closed-groups.ts";
import { endEventGroups, endUnreadGroups } from "./end-unread-groups.ts";

/** A change of one target. */
interface TargetInput extends CallLimits {
  readonly target: TargetName;
}

/**
 * Registers a target, so that people can react to it. Sets title and link of an existing target.
 * Refusals: INVALID_REQUEST for the reserved type and as `readDisplayText`, ID_REUSED when it
 * belongs to another owner, TARGET_DELETED.
 */
export async function registerTarget(
  deps: Pick<Deps, "engine">,
  input: TargetInput & { readonly ownerId: string; readonly title: string; readonly link: string },
): Promise<Target> {
  const { ownerId, link } = input;
  const { type, id } = input.target;
  requireUnreserved(input.target);
  const title = readDisplayText(input.title, maxTitleBytes, "title");
  const { record } = await changeRecord(
    deps,
    { ref: targetRef(input.target), key: inboxRef(ownerId), expectAbsent: true, call: input },
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
 * How many kinds of events the deletion itself ends, beside all kinds of reactions and closed
 * groups: a transaction has at most 100 items. The purge ends further ones.
 */
const eventKindsPage = { size: 20, cursor: undefined };

/**
 * Sets the tombstone of a target, which ends all reactions to it, and deletes its owner's unread
 * groups in the same transaction. Then starts the workflow that purges its reactions, the events
 * and the notifications of other owners in the background, so that the caller does not wait for
 * Temporal. Changes nothing when the target is deleted, but
 * starts a purge that has not ended. Refusals: TARGET_NOT_FOUND, INVALID_REQUEST for the reserved
 * type.
 */
export async function deleteTarget(
  deps: Pick<Deps, "engine" | "reader" | "workflows" | "owners" | "unreadCounts" | "background">,
  input: TargetInput,
): Promise<Target> {
  const { target } = input;
  requireUnreserved(target);
  const ownerId = await deps.owners.of(target);
  const { type, id } = target;
  const refs = {
    target: targetRef(target),
    pending: pendingPurgeRef(target),
    muted: mutedTargetRef(ownerId, target),
  };
  const events = await deps.reader.eventOwners(target, eventKindsPage, ownerId);
  const eventKinds = events.items.map(({ kind }) => kind);
  const deletion = await deps.engine.transact<Deletion>({
    key: inboxRef(ownerId),
    readSet: [refs.target, refs.muted, inboxRef(ownerId)],
    expectAbsent: [refs.pending, closedGroupsRef(ownerId, target)],
    call: input,
    decide(tx, { wall }) {
      const found = requireExisting(tx.get(refs.target));
      if (found.deleteTime !== undefined) {
        return { tombstone: found, isPending: tx.get(refs.pending) !== undefined };
      }
      const kinds = [...Object.keys(found.counts), ...eventKinds];
      const openRefs = kinds.map((kind) => unreadGroupRef(ownerId, target, kind));
      const groupRefs = [...openRefs, ...closedRefsOf(tx, ownerId, target)];
      const { latest: _, ...kept } = found;
      const tombstone = { ...kept, updateTime: wall, deleteTime: wall };
      tx.put(refs.target, tombstone);
      if (found.muted) tx.delete(refs.muted);
      tx.put(refs.pending, { target: { type, id }, ownerId, deleteTime: wall });
      const inbox = endUnreadGroups(tx, ownerId, groupRefs);
      return { tombstone, inbox, isPending: true };
    },
  });
  const { tombstone, inbox, isPending } = deletion;
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  if (isPending) {
    deps.background(() => deps.workflows.startPurge(target, ownerId));
    // A Notify may have begun the group of another kind between the read of the kinds and the
    // tombstone. After the tombstone none begins.
    const late = await deps.reader.eventOwners(target, eventKindsPage, ownerId);
    await Promise.all(late.items.map((name) => endEventGroups(deps, name, input)));
  }
  return tombstone;
}

/**
 * Stops or resumes notifications of new reactions to a target, and keeps a record by which the
 * muted targets of an owner are listed. Unread groups stay unread. Refusals:
 * TARGET_NOT_FOUND, also for a target of another owner, TARGET_DELETED.
 */
export async function setTargetMuted(
  deps: Pick<Deps, "engine" | "owners">,
  input: TargetInput & { readonly ownerId: string; readonly muted: boolean },
): Promise<Target> {
  const { ownerId, target, muted } = input;
  await checkOwner(deps, target, ownerId);
  const { type, id } = target;
  const refs = { target: targetRef(target), muted: mutedTargetRef(ownerId, target) };
  return deps.engine.transact({
    key: inboxRef(ownerId),
    readSet: [refs.target, refs.muted],
    expectAbsent: [],
    call: input,
    decide(tx, { wall }) {
      const active = requireActive(tx.get(refs.target));
      if (active.muted === muted) return active;
      const changed = { ...active, muted, updateTime: wall };
      tx.put(refs.target, changed);
      if (muted) tx.put(refs.muted, { target: { type, id }, time: wall });
      else tx.delete(refs.muted);
      return changed;
    },
  });
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
