/** The pass of the reconciler for bulk grants: starts missing runs, deletes broken uploads. */

import { allPages } from "../../platform/ports/pages.ts";
import { waitingSince } from "../../platform/ports/waiting.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrantCensus } from "../ports/observers.ts";
import { bulkGrantRef } from "../ports/records.ts";
import {
  activeStates,
  type BulkGrant,
  type BulkGrantName,
  isRecountDue,
} from "../rules/bulk-grant.ts";
import { dropUpload } from "./pending-uploads.ts";

/** A record that waited this long for its run has lost the signal. */
const lostMs = 60_000;

/** No upload takes this long. */
const cutOffMs = 86_400_000;

const pageSize = 100;

/**
 * Starts the runs of all active bulk grants that have none, such as after the loss of a namespace,
 * and signals those that missed a change. Starts a run for each cancelled one that is to be counted
 * again now. One that fails is left to the next pass. Returns what it has read of active ones.
 */
export async function startActiveBulkGrants(
  { reader, workflows, clock }: Pick<Deps, "reader" | "workflows" | "clock">,
  onFailed: (name: BulkGrantName, error: unknown) => void,
): Promise<BulkGrantCensus> {
  const { wall } = await clock.now();
  const byState = new Map([...activeStates, "PAUSED"].map((state) => [state, 0]));
  const submitTimes: Instant[] = [];
  for await (const bulkGrant of dueBulkGrants(reader, wall)) {
    const state = bulkGrant.pause ? "PAUSED" : bulkGrant.state;
    const count = byState.get(state);
    if (count !== undefined) byState.set(state, count + 1);
    if (state === "AWAITING_APPROVAL") submitTimes.push(bulkGrant.revision.submitTime);
    const { programId, bulkGrantId } = bulkGrant;
    try {
      if (isOverdue(bulkGrant, wall)) await workflows.refreshBulkGrant(bulkGrant);
      else await workflows.startBulkGrant(bulkGrant);
    } catch (error) {
      onFailed({ programId, bulkGrantId }, error);
    }
  }
  return { byState, waiting: waitingSince(submitTimes, wall) };
}

/** The bulk grants for which a workflow has something to do. */
async function* dueBulkGrants(
  reader: Deps["reader"],
  wall: Instant,
): AsyncGenerator<BulkGrant, void> {
  for await (const names of allPages(pageSize, (page) => reader.activeBulkGrants(page))) {
    const refs = names.map((name) => bulkGrantRef(name.programId, name.bulkGrantId));
    for (const each of await reader.many(refs)) {
      if (!each) continue;
      if (activeStates.includes(each.state) || isRecountDue(each, wall)) yield each;
    }
  }
}

/** Whether the run should have seen a change long ago: the start that is due, or a cancellation. */
function isOverdue(
  { state, pause, cancelRequest, updateTime, revision }: BulkGrant,
  wall: Instant,
): boolean {
  if (state === "RUNNING") return cancelRequest !== undefined && cancelRequest.time + lostMs < wall;
  const due = Math.max(updateTime, revision.executeTime ?? 0);
  return state === "APPROVED" && !pause && due + lostMs < wall;
}

/** Deletes the rows of uploads that were cut off a day ago. */
export async function dropOldUploads(
  deps: Pick<Deps, "engine" | "reader" | "sheets" | "clock">,
  onFailed: (uploadId: string, error: unknown) => void,
): Promise<void> {
  const { wall } = await deps.clock.now();
  for await (const uploads of allPages(pageSize, (page) => deps.reader.pendingUploads(page))) {
    for (const { uploadId, startTime } of uploads) {
      if (startTime + cutOffMs > wall) continue;
      try {
        await dropUpload(deps, uploadId);
      } catch (error) {
        onFailed(uploadId, error);
      }
    }
  }
}
