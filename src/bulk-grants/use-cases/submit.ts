/** The use case that submits a sheet: stores its rows, then the revision that they belong to. */
import { randomUUID } from "node:crypto";
import type { Audit } from "../../platform/words/audit.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import { approvalsFor, type BulkRules } from "../../points/rules/bulk-rules.ts";
import { createUserIdMatch } from "../../points/rules/user-id-pattern.ts";
import { getBulkRules } from "../../points/use-cases/programs/queries.ts";
import { checkExecuteTime } from "../../reservations/rules/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import {
  bulkContentRef,
  bulkGrantRef,
  bulkRevisionRef,
  pendingUploadRef,
  revisionContentRef,
} from "../ports/records.ts";
import {
  type BulkGrant,
  isRevocation,
  type Revision,
  type UserRequest,
} from "../rules/bulk-grant.ts";
import { submit } from "../rules/bulk-grant-changes.ts";
import { rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import type { SheetReading } from "../rules/sheet-reading.ts";
import { approvalsWithin, tierPointsOf } from "../rules/tier-points.ts";
import { putBulkGrant, putBulkGrantAct } from "./bulk-grant-record.ts";
import { dropUpload, startUpload } from "./pending-uploads.ts";
import { readRows, type SheetContent } from "./read-rows.ts";
import type { ReadingOptions } from "./read-sheet.ts";
import { contentHashOf, createRowsDigest, digestOf } from "./rows-digest.ts";
import { readTiers, type Tiers, tierRefs } from "./tier-points.ts";

type SubmitDeps = Pick<
  Deps,
  "engine" | "reader" | "clock" | "sheets" | "workflows" | "background" | "approvalTimes"
>;

/** The parts of a submission besides the rows. */
export interface Submission extends ReadingOptions {
  readonly programId: string;
  readonly bulkGrantId: string;
  /** Absent: as soon as it is approved. */
  readonly executeTime?: Instant | undefined;
  /** At whose end the points expire of rows without a month of their own. */
  readonly expireMonth?: Month | undefined;
  readonly submitter: Caller;
  /** Who calls, or has started the run that submits, for the act of the submission. */
  readonly audit?: Audit | undefined;
  /** Who started the run that submits it from a source. */
  readonly starter?: Caller | undefined;
  /** The name for people, as `readDisplayText` has it; absent or empty for no title. */
  readonly title?: string | undefined;
  /** The cause, for the ledger entry of every row; absent or empty for none. */
  readonly cause?: string | undefined;
  /** Where the rows come from; absent for an upload. */
  readonly source?: string;
  /** Where people find the source in a browser. */
  readonly sourceUrl?: string | undefined;
  /**
   * The revision that this one replaces. Without it, the content of the current revision is not
   * submitted again.
   */
  readonly replacedRevision?: number | undefined;
  /** The bulk grant whose grants the rows revoke. */
  readonly reversedBulkGrantId?: string;
  /** What is requested for one user. Its row is the only one. */
  readonly request?: UserRequest | undefined;
  /** Why it is submitted, for its actions. */
  readonly reason?: string | undefined;
}

/** A bulk grant as it is after a submission. */
export interface Submitted {
  readonly bulkGrant: BulkGrant;
  /** The revision that has the submitted content; an earlier one when that has been replaced. */
  readonly revision: number;
  /** Whether a revision had the content before, so that the submission changed nothing. */
  readonly replayed: boolean;
  /** How the submitted sheet was understood; absent for rows without a sheet. */
  readonly reading?: SheetReading | undefined;
}

/**
 * Submits a sheet as the next revision of a bulk grant, and has it validated in the background.
 * Content that a revision has already changes nothing. When the content ends with an
 * error, nothing is kept. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST as `checkExecuteTime` and
 * `readRows`, WRONG_STATE, ID_REUSED, PERMISSION_DENIED as `requireSource`.
 */
export async function submitBulkGrant(
  deps: SubmitDeps,
  submission: Submission,
  content: SheetContent,
): Promise<Submitted> {
  const { programId, bulkGrantId, source, expireMonth, encoding, skipZero } = submission;
  const rules = await getBulkRules(deps, programId);
  if (source !== undefined) requireSource(rules, source);
  const { maxPointsPerRow, userIdPattern } = rules;
  let reading: SheetReading | undefined;
  const onReading = (read: SheetReading) => {
    reading = read;
  };
  const options = { expireMonth, encoding, skipZero, onReading };
  const context = { bulkGrantId, maxPointsPerRow, userIdPattern, ...options };
  return submitRows(deps, submission, readRows(content, context), () => reading);
}

/**
 * Requires the rules to allow the source, which the text before the first slash names: who writes
 * its files is not known, so the people who approve the rules decide. Refusal: PERMISSION_DENIED.
 */
function requireSource({ sources }: BulkRules, source: string): void {
  const [name = ""] = source.split("/", 1);
  if (sources.includes(name)) return;
  throw new DomainError(
    "PERMISSION_DENIED",
    `the bulk rules of the program do not have the source ${name}`,
  );
}

/**
 * Submits checked rows, and how their sheet was understood, which is known behind the last of them.
 * Refusals: those of `submitBulkGrant`, and those of `rows`.
 */
export async function submitRows(
  deps: SubmitDeps,
  submission: Submission,
  rows: AsyncIterable<SheetRow>,
  readingOf: () => SheetReading | undefined = () => undefined,
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
    submitted = await commit(deps, submission, { ...stored, uploadId }, readingOf());
  } catch (error) {
    // After a retryable error the commit may have happened: then the record of the upload decides.
    const isUncertain = isCommitting && error instanceof DomainError && error.retryable;
    const drop = () => dropUpload(deps, uploadId);
    if (!isUncertain) await drop().catch(() => deps.background(drop));
    throw error;
  }
  if (submitted.replayed) await dropUpload(deps, uploadId);
  deps.background(() => deps.workflows.refreshBulkGrant(submitted.bulkGrant));
  return { ...submitted, reading: readingOf() };
}

type StoredRows = Pick<Revision, "rowCount" | "totalPoints" | "rowsDigest" | "hasExpireMonths">;

async function storeRows(
  { sheets }: Pick<Deps, "sheets">,
  uploadId: string,
  rows: AsyncIterable<SheetRow>,
): Promise<StoredRows> {
  const digest = createRowsDigest();
  let rowCount = 0;
  let totalPoints = 0;
  let hasExpireMonths = false;
  let block: SheetRow[] = [];
  const putBlock = async () => {
    await sheets.putBlock(uploadId, Math.ceil(rowCount / rowsPerBlock) - 1, block);
    block = [];
  };
  for await (const row of rows) {
    digest.add(row);
    rowCount += 1;
    if (!row.problems) totalPoints += row.points;
    if (row.expireMonth) hasExpireMonths = true;
    block.push(row);
    if (block.length === rowsPerBlock) await putBlock();
  }
  if (block.length > 0) await putBlock();
  const rowsDigest = digest.digest();
  return { rowCount, totalPoints, rowsDigest, ...(hasExpireMonths && { hasExpireMonths }) };
}

/** Writes the revision, unless there is one with its content. The last step of a submission. */
function commit(
  { engine, approvalTimes }: Pick<Deps, "engine" | "approvalTimes">,
  { submitter, starter, replacedRevision, ...submission }: Submission,
  stored: StoredRows & { readonly uploadId: string },
  reading: SheetReading | undefined,
): Promise<Submitted> {
  const { programId, bulkGrantId, executeTime, title, cause, source, sourceUrl } = submission;
  const { reversedBulkGrantId, expireMonth, request } = submission;
  const { totalPoints, rowsDigest, uploadId } = stored;
  const ref = bulkGrantRef(programId, bulkGrantId);
  const content = bulkContentRef(programId, rowsDigest);
  const upload = pendingUploadRef(uploadId);
  const contentHash = contentHashOf({ rowsDigest, ...submission });
  const same = revisionContentRef(programId, bulkGrantId, contentHash);
  return engine.transact({
    key: ref,
    readSet: [ref, content, same, upload, ...tierRefs(programId)],
    expectAbsent: [],
    call: undefined,
    decide(tx, { wall }) {
      const existing = tx.get(ref);
      const first = tx.get(content)?.bulkGrantId ?? bulkGrantId;
      const number = (existing?.revision.number ?? 0) + 1;
      const tiers = readTiers(tx, programId, existing, number, wall);
      const { limits, tierPoints } = limitsOf(submission, existing, totalPoints, tiers);
      const revision = {
        ...stored,
        ...limits,
        submitter,
        ...(starter && { starter }),
        submitTime: wall,
        ...(executeTime !== undefined && { executeTime }),
        ...(expireMonth !== undefined && { expireMonth }),
        ...(title && { title }),
        ...(cause && { cause }),
        ...(source !== undefined && { source }),
        ...(sourceUrl !== undefined && { sourceUrl }),
        ...(reversedBulkGrantId !== undefined && { reversedBulkGrantId }),
        ...(first !== bulkGrantId &&
          !isRevocation(submission) && { sameContentBulkGrantId: first }),
        ...(request && { request }),
      };
      const digest = (number: number) =>
        digestOf({ ...revision, programId, bulkGrantId, revision: number });
      const submitted = submit(
        existing,
        { programId, bulkGrantId },
        { ...revision, reason: submission.reason },
        replacedRevision,
        tx.get(same)?.revision,
        digest,
        approvalTimes,
      );
      if (submitted === existing) {
        const current = existing.revision;
        const replayed = current.uploadId !== uploadId;
        const revision = tx.get(same)?.revision ?? current.number;
        return { bulkGrant: existing, revision, replayed };
      }
      if (request) requireGrantable(request, totalPoints, tiers.rules);
      const bulkGrant = { ...submitted, ...(tierPoints && { tierPoints }) };
      const pending = tx.get(upload);
      if (!pending || pending.isDropped) {
        throw new DomainError("DEADLINE", "the upload took too long, and its rows were deleted");
      }
      putBulkGrant(tx, existing, bulkGrant, wall);
      putBulkGrantAct(tx, submission, wall, existing, bulkGrant);
      tx.put(bulkRevisionRef(programId, bulkGrantId, number), { ...bulkGrant.revision, reading });
      tx.put(same, { revision: number });
      const isNewContent = !isRevocation(submission) && !tx.get(content);
      if (isNewContent) tx.put(content, { bulkGrantId });
      tx.delete(upload);
      return { bulkGrant, revision: number, replayed: false };
    },
  });
}

/**
 * The limits of a submission by the program's rules, and its points that the tiers count. A later
 * revision may have rows that are granted already, so only the end of its validation compares it
 * with the counted points.
 */
function limitsOf(
  submission: Pick<Submission, "reversedBulkGrantId" | "request">,
  existing: BulkGrant | undefined,
  totalPoints: number,
  { rules, window }: Tiers,
) {
  if (isRevocation(submission)) {
    return { limits: { requiredApprovalCount: approvalsFor(rules, totalPoints) } };
  }
  const { maxTotalPoints } = rules;
  const requiredApprovalCount = hasGranted(existing)
    ? approvalsFor(rules, totalPoints)
    : approvalsWithin(rules, window, totalPoints);
  const limits = {
    requiredApprovalCount,
    ...(totalPoints > maxTotalPoints && { exceededMaxTotalPoints: maxTotalPoints }),
  };
  return { limits, tierPoints: tierPointsOf(window, requiredApprovalCount, totalPoints) };
}

/**
 * Refuses a request of points that the rules would not let through, because no revision corrects
 * it: LIMIT_EXCEEDED above their caps, INVALID_REQUEST for a user id of another form.
 */
function requireGrantable(
  { userId, revokedEvent }: UserRequest,
  points: number,
  { maxPointsPerRow, maxTotalPoints, userIdPattern }: BulkRules,
): void {
  if (revokedEvent) return;
  if (userIdPattern !== "" && !createUserIdMatch(userIdPattern)(userId)) {
    const message = `the program demands user ids of the form ${userIdPattern}`;
    throw new DomainError("INVALID_REQUEST", message, { field: "user_id" });
  }
  const cap = Math.min(maxPointsPerRow, maxTotalPoints);
  if (points <= cap) return;
  throw new DomainError("LIMIT_EXCEEDED", `points: the program allows at most ${cap} a request`);
}

const hasGranted = (existing: BulkGrant | undefined): boolean =>
  (existing?.grantedBefore ?? 0) + (existing?.result?.grantedPoints ?? 0) > 0;
