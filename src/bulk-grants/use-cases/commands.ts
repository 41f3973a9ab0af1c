/** The use cases by which people approve, reject, cancel, pause, resume and retry bulk grants. */

import type { CallLimits } from "../../platform/ports/call.ts";
import { approvalsFor } from "../../points/rules/bulk-rules.ts";
import type { Deps } from "../ports/deps.ts";
import { type BulkGrant, type BulkGrantName, isRevocation } from "../rules/bulk-grant.ts";
import {
  approve,
  type ChangeRequest,
  campaignPoints,
  cancel,
  expire,
  pause,
  reject,
  resume,
  retry,
} from "../rules/bulk-grant-changes.ts";
import { changeBulkGrant } from "./bulk-grant-record.ts";
import { readRules } from "./tier-points.ts";

type CommandDeps = Pick<Deps, "engine" | "workflows" | "background">;

/** A change of a bulk grant: its name, the caller and the reason. */
export type BulkGrantChange = BulkGrantName & ChangeRequest & CallLimits;

/**
 * Adds an approval of the revision with this digest; the last one that is required approves the
 * bulk grant. Repeated by the same approver it changes nothing. Refusals: DIGEST_MISMATCH,
 * SELF_APPROVAL, WRONG_STATE; as every change here BULK_GRANT_NOT_FOUND.
 */
export const approveBulkGrant = (
  deps: CommandDeps,
  input: BulkGrantChange & { readonly digest: string },
): Promise<BulkGrant> =>
  // An approval that comes too late is refused, even if the workflow has not expired it yet.
  change(deps, input, (record, now, tx) => {
    const rules = readRules(tx, input.programId);
    const requiredNow = approvalsFor(rules, pointsOf(record));
    return approve(expire(record, now), input.digest, requestOf(input), now, requiredNow);
  });

/** The points that decide how many approvals a validated bulk grant needs. */
const pointsOf = (record: BulkGrant): number =>
  record.checked && !isRevocation(record.revision)
    ? campaignPoints(record, record.checked)
    : record.revision.totalPoints;

/**
 * Rejects what awaits approval; with a digest, only the revision that has it. Refusals:
 * DIGEST_MISMATCH, WRONG_STATE.
 */
export const rejectBulkGrant = (
  deps: CommandDeps,
  input: BulkGrantChange & { readonly digest?: string | undefined },
): Promise<BulkGrant> =>
  change(deps, input, (record, now) => reject(record, requestOf(input), now, input.digest));

/** Cancels at once what has not started; a running one when its rows are counted. WRONG_STATE. */
export const cancelBulkGrant = (deps: CommandDeps, input: BulkGrantChange): Promise<BulkGrant> =>
  change(deps, input, (record, now) => cancel(record, requestOf(input), now));

/** Pauses an approved or running one after the rows under way. Refusal: WRONG_STATE. */
export const pauseBulkGrant = (deps: CommandDeps, input: BulkGrantChange): Promise<BulkGrant> =>
  change(deps, input, (record, now) => pause(record, requestOf(input), now));

/** Ends a pause. */
export const resumeBulkGrant = (deps: CommandDeps, input: BulkGrantChange): Promise<BulkGrant> =>
  change(deps, input, (record, now) => resume(record, requestOf(input), now));

/** Runs the failed rows of DONE_WITH_FAILURES again. Refusal: WRONG_STATE. */
export const retryBulkGrant = (deps: CommandDeps, input: BulkGrantChange): Promise<BulkGrant> =>
  change(deps, input, (record, now) => retry(record, requestOf(input), now));

/** Changes the record, which decides, then refreshes its workflow, Temporal up or not. */
async function change(
  deps: CommandDeps,
  input: BulkGrantChange,
  decide: Parameters<typeof changeBulkGrant>[2],
): Promise<BulkGrant> {
  const { record: bulkGrant } = await changeBulkGrant(deps, input, decide);
  deps.background(() => deps.workflows.refreshBulkGrant(bulkGrant));
  return bulkGrant;
}

const requestOf = ({ caller, reason }: ChangeRequest): ChangeRequest => ({ caller, reason });
