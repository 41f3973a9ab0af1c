/** The use case that submits a sheet: stores its rows, then the revision that they belong to. */
import { randomUUID } from "node:crypto";
import type { BulkGrant, Revision } from "../../domain/bulk-grant.ts";
import { submit } from "../../domain/bulk-grant-changes.ts";
import type { Caller } from "../../domain/caller.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import { approvalsFor, type BulkRules } from "../../domain/program.ts";
import { checkExecuteTime } from "../../domain/reservation.ts";
import { rowsPerBlock, type SheetRow } from "../../domain/sheet.ts";
import type { Deps } from "../ports/deps.ts";
import {
  bulkContentRef,
  bulkGrantRef,
  bulkRevisionRef,
  pendingUploadRef,
  revisionContentRef,
} from "../ports/records.ts";
import { getBulkRules } from "../programs/queries.ts";
import { dropUpload, startUpload } from "./pending-uploads.ts";
import { readRows, type SheetContent } from "./read-rows.ts";
import { contentHashOf, createRowsDigest, digestOf } from "./rows-digest.ts";

type SubmitDeps = Pick<
  Deps,
  "engine" | "reader" | "clock" | "sheets" | "workflows" | "background" | "approvalTimes"
>;

/** What is submitted, besides the rows. */
export interface Submission {
  readonly programId: string;
  readonly bulkGrantId: string;
  /** Absent: as soon as it is approved. */
  readonly executeTime?: Instant | undefined;
  readonly submitter: Caller;
  /** Where the rows come from; absent for an upload. */
  readonly source?: string;
  /**
   * The revision that this one replaces. Without it, the content of the current revision is not
   * submitted again.
   */
  readonly replacedRevision?: number | undefined;
  /** The bulk grant whose grants the rows revoke. */
  readonly reversedBulkGrantId?: string;
}

/** A bulk grant as it is after a submission. */
export interface Submitted {
  readonly bulkGrant: BulkGrant;
  /** The revision that has the submitted content; an earlier one when that has been replaced. */
  readonly revision: number;
  /** Whether a revision had the content before, so that the submission changed nothing. */
  readonly replayed: boolean;
}

/**
 * Submits a sheet as the next revision of a bulk grant, and has it validated in the background.
 * Content that a revision has already changes nothing. When the content ends with an
 * error, nothing is kept. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST as `checkExecuteTime` and
 * `readRows`, WRONG_STATE, ID_REUSED.
 */
export async function submitBulkGrant(
  deps: SubmitDeps,
  submission: Submission,
  content: SheetContent,
): Promise<Submitted> {
  const { programId, bulkGrantId } = submission;
  const rules = await getBulkRules(deps, programId);
  const { maxPointsPerRow } = rules;
  return submitRows(deps, submission, rules, readRows(content, { bulkGrantId, maxPointsPerRow }));
}

/** Submits checked rows. Refusals: those of `submitBulkGrant`, and those of `rows`. */
export async function submitRows(
  deps: SubmitDeps,
  submission: Submission,
  rules: BulkRules,
  rows: AsyncIterable<SheetRow>,
): Promise<Submitted> {
  const { executeTime } = submission;
  const { wall } = await deps.clock.now();
  if (executeTime !== undefined) checkExecuteTime(executeTime, wall);
  const uploadId = randomUUID();
  await startUpload(deps, uploadId, wall);
  let submitted: Submitted;
  let isCommitting = false;
  try {
    const stored = await storeRows(deps, uploadId, rows);
    isCommitting = true;
    submitted = await commit(deps, submission, rules, { ...stored, uploadId });
  } catch (error) {
    // After a retryable error the commit may have happened: then the record of the upload decides.
    const isUncertain = isCommitting && error instanceof DomainError && error.retryable;
    const drop = () => dropUpload(deps, uploadId);
    if (!isUncertain) await drop().catch(() => deps.background(drop));
    throw error;
  }
  if (submitted.replayed) await dropUpload(deps, uploadId);
  deps.background(() => deps.workflows.refreshBulkGrant(submitted.bulkGrant));
  return submitted;
}

type StoredRows = Pick<Revision, "rowCount" | "totalPoints" | "rowsDigest">;

async function storeRows(
  { sheets }: Pick<Deps, "sheets">,
  uploadId: string,
  rows: AsyncIterable<SheetRow>,
): Promise<StoredRows> {
  const digest = createRowsDigest();
  let rowCount = 0;
  let totalPoints = 0;
  let block: SheetRow[] = [];
  const putBlock = async () => {
    await sheets.putBlock(uploadId, Math.ceil(rowCount / rowsPerBlock) - 1, block);
    block = [];
  };
  for await (const row of rows) {
    digest.add(row);
    rowCount += 1;
    if (!row.problem) totalPoints += row.points;
    block.push(row);
    if (block.length === rowsPerBlock) await putBlock();
  }
  if (block.length > 0) await putBlock();
  return { rowCount, totalPoints, rowsDigest: digest.digest() };
}

/** Writes the revision, unless there is one with its content. The last step of a submission. */
function commit(
  { engine, approvalTimes }: Pick<Deps, "engine" | "approvalTimes">,
  { submitter, replacedRevision, ...submission }: Submission,
  rules: BulkRules,
  stored: StoredRows & { readonly uploadId: string },
): Promise<Submitted> {
  const { programId, bulkGrantId, executeTime, source, reversedBulkGrantId } = submission;
  const { totalPoints, rowsDigest, uploadId } = stored;
  const isTooMuch = reversedBulkGrantId === undefined && totalPoints > rules.maxTotalPoints;
  const requiredApprovalCount = approvalsFor(rules, totalPoints);
  const ref = bulkGrantRef(programId, bulkGrantId);
  const content = bulkContentRef(programId, rowsDigest);
  const upload = pendingUploadRef(uploadId);
  const contentHash = contentHashOf({ rowsDigest, executeTime, reversedBulkGrantId });
  const same = revisionContentRef(programId, bulkGrantId, contentHash);
  return engine.transact({
    key: ref,
    readSet: [ref, content, same, upload],
    expectAbsent: [],
    deadline: undefined,
    decide(tx, { wall }) {
      const existing = tx.get(ref);
      const first = tx.get(content)?.bulkGrantId ?? bulkGrantId;
      const revision = {
        ...stored,
        requiredApprovalCount,
        submitter,
        submitTime: wall,
        ...(executeTime !== undefined && { executeTime }),
        ...(isTooMuch && { exceededMaxTotalPoints: rules.maxTotalPoints }),
        ...(source !== undefined && { source }),
        ...(reversedBulkGrantId !== undefined && { reversedBulkGrantId }),
        ...(first !== bulkGrantId &&
          reversedBulkGrantId === undefined && { sameContentBulkGrantId: first }),
      };
      const digest = (number: number) =>
        digestOf({ ...revision, programId, bulkGrantId, revision: number });
      const bulkGrant = submit(
        existing,
        { programId, bulkGrantId },
        revision,
        replacedRevision,
        tx.get(same)?.revision,
        digest,
        approvalTimes,
      );
      const { number } = bulkGrant.revision;
      if (bulkGrant === existing) {
        const replayed = bulkGrant.revision.uploadId !== uploadId;
        return { bulkGrant, revision: tx.get(same)?.revision ?? number, replayed };
      }
      const pending = tx.get(upload);
      if (!pending || pending.isDropped) {
        throw new DomainError("DEADLINE", "the upload took too long, and its rows were deleted");
      }
      tx.put(ref, bulkGrant);
      tx.put(bulkRevisionRef(programId, bulkGrantId, number), bulkGrant.revision);
      tx.put(same, { revision: number });
      const isNewContent = reversedBulkGrantId === undefined && !tx.get(content);
      if (isNewContent) tx.put(content, { bulkGrantId });
      tx.delete(upload);
      return { bulkGrant, revision: number, replayed: false };
    },
  });
}
