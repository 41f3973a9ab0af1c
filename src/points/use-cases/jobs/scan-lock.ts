/** The lock by which one job of each kind reads the accounts of a program at a time. */

import type { LeaseHolder } from "../../../platform/ports/lease.ts";
import { leaseRef } from "../../../platform/ports/records.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import type { Deps } from "../../ports/deps.ts";

/** A workflow that reads all accounts of a program. */
interface ScanRun {
  readonly programId: string;
  /** Workflows of one kind exclude each other. */
  readonly kind: string;
  readonly workflowId: string;
}

const refOf = ({ kind, programId }: ScanRun) => leaseRef(`${kind}/${programId}`);

const heldBy = (holder: string, lease: LeaseHolder | undefined): LeaseHolder => ({
  holder,
  heartbeat: (lease?.heartbeat ?? 0) + 1,
});

/**
 * Takes the lock of a program and a kind, and returns undefined; while another workflow has it and
 * runs, returns the id of that one. The lock of a workflow that has ended is taken over, however it
 * ended. To be called before each step, because a run that was reset, or whose step has failed, may
 * have lost it. Throws WORKFLOWS_UNAVAILABLE.
 */
export async function takeScanLock(
  deps: Pick<Deps, "engine" | "reader" | "workflows">,
  scan: ScanRun,
): Promise<string | undefined> {
  const { workflowId } = scan;
  const ref = refOf(scan);
  const found = (await deps.reader.get(ref))?.value;
  if (found?.holder === workflowId) return undefined;
  const isHeld = found !== undefined && found.holder !== "";
  if (isHeld && (await deps.workflows.isRunning(found.holder))) return found.holder;
  const { record } = await changeRecord(deps, { ref }, (lease) =>
    lease?.heartbeat === found?.heartbeat ? heldBy(workflowId, lease) : lease,
  );
  return record?.holder === workflowId ? undefined : record?.holder;
}

/** Gives the lock up if the workflow has it, so that another one takes it. */
export async function releaseScanLock(deps: Pick<Deps, "engine">, scan: ScanRun): Promise<void> {
  await changeRecord(deps, { ref: refOf(scan) }, (lease) =>
    lease?.holder === scan.workflowId ? heldBy("", lease) : lease,
  );
}
