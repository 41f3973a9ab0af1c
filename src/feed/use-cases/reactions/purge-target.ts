/** The use cases that purge what a deleted target has left, and start purges that never ran. */
import { setTimeout as sleep } from "node:timers/promises";
import { appliedMs } from "../../../platform/ports/engine.ts";
import { inBatches } from "../../../platform/ports/pages.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import type { Deps } from "../../ports/deps.ts";
import { eventOwnerRef, pendingPurgeRef, targetRef } from "../../ports/records.ts";
import type { EventsName } from "../../rules/event.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import { purgeFlow, type Target } from "../../rules/target.ts";
import { endEventGroups } from "./end-unread-groups.ts";

/** A purge of this age should be running: the background task that starts it has failed. */
const unstartedMs = 10_000;

/** A page of owners, whose events are purged concurrently. */
const ownersPage = { size: 20, cursor: undefined };

/** How many pending purges one pass reads, and how many of them it starts concurrently. */
const pageSize = 100;
const concurrency = 20;

/** Returns the kinds of a deleted target's reactions, which are to be purged. */
export async function readKindsToPurge(
  deps: Pick<Deps, "reader">,
  target: TargetName,
): Promise<string[]> {
  const tombstone = await tombstoneOf(deps, target);
  return tombstone ? Object.keys(tombstone.counts) : [];
}

/**
 * Deletes a page of a deleted target's reactions. Returns whether there may be more. Does nothing
 * for an active target.
 */
export async function purgeReactions(
  deps: Pick<Deps, "reader" | "purger">,
  target: TargetName,
  kind: StoredKind,
): Promise<boolean> {
  return (await tombstoneOf(deps, target)) ? deps.purger.reactions(target, kind) : false;
}

/**
 * Ends the notifications of events about a deleted target, of a page of their owners, and deletes
 * a page of the events of each. Returns whether there may be more. Does nothing for an active
 * target. An event that was reported just before the deletion may not be applied yet, so it waits
 * until every transaction of that time is.
 */
export async function purgeEvents(
  deps: Pick<Deps, "engine" | "reader" | "purger" | "unreadCounts" | "clock" | "paceSweep">,
  target: TargetName,
): Promise<boolean> {
  const tombstone = await tombstoneOf(deps, target);
  if (tombstone?.deleteTime === undefined) return false;
  const { wall } = await deps.clock.now();
  await sleep(Math.max(0, tombstone.deleteTime + appliedMs - wall));
  const { items } = await deps.reader.eventOwners(target, ownersPage);
  const remaining = await Promise.all(items.map((name) => purgeEventsOf(deps, name)));
  return items.length === ownersPage.size || remaining.includes(true);
}

/** Does so for one owner. Returns whether there may be more events. */
async function purgeEventsOf(
  deps: Pick<Deps, "engine" | "purger" | "unreadCounts" | "paceSweep">,
  name: EventsName,
): Promise<boolean> {
  await deps.paceSweep(purgeFlow(name.target));
  await endEventGroups(deps, name);
  if (await deps.purger.events(name)) return true;
  await changeRecord(deps, { ref: eventOwnerRef(name) }, () => undefined);
  return false;
}

/** Records that the purge of a target has ended, so that it is not started again. */
export async function endPurge(deps: Pick<Deps, "engine">, target: TargetName): Promise<void> {
  await changeRecord(deps, { ref: pendingPurgeRef(target) }, () => undefined);
}

/**
 * Starts the purges that should have started some time ago and have not ended, up to 100. A purge
 * that is running is not started twice. A later call finds the purges that are left: an ended one
 * is not listed any more. Calls `onFailed` for each that could not be started. Throws
 * STORE_UNAVAILABLE.
 */
export async function startPendingPurges(
  { reader, clock, workflows }: Pick<Deps, "reader" | "clock" | "workflows">,
  onFailed: (target: TargetName, error: unknown) => void,
): Promise<void> {
  const { items } = await reader.pendingPurges({ size: pageSize, cursor: undefined });
  if (items.length === 0) return;
  const { wall } = await clock.now();
  const due = items.filter(({ deleteTime }) => deleteTime < wall - unstartedMs);
  for (const batch of inBatches(due, concurrency)) {
    await Promise.all(
      batch.map(({ target, ownerId }) =>
        workflows.startPurge(target, ownerId).catch((error) => onFailed(target, error)),
      ),
    );
  }
}

/** Reads the target. Returns undefined unless it is deleted. */
async function tombstoneOf(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
): Promise<Target | undefined> {
  const found = await reader.get(targetRef(target));
  return found?.value.deleteTime === undefined ? undefined : found.value;
}
