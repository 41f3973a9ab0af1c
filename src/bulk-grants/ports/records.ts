/** The records of bulk grants, and their names. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Action, BulkGrant, Revision } from "../rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../rules/bulk-grant-summary.ts";
import type { SheetReading } from "../rules/sheet-reading.ts";
import type { PointsWindow } from "../rules/tier-points.ts";
import type { BlockCheck, BlockOutcome, PendingUpload } from "./bulk-grants.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    bulkGrant: BulkGrant;
    bulkRevision: StoredRevision;
    bulkSummary: BulkGrantSummary;
    bulkAction: Action;
    bulkContent: BulkContent;
    revisionContent: RevisionContent;
    pendingUpload: PendingUpload;
    blockCheck: BlockCheck;
    blockOutcome: BlockOutcome;
    pointsWindow: PointsWindow;
  }
}

/** A revision as its own record has it: with how its sheet was understood, if it had one. */
interface StoredRevision extends Revision {
  readonly reading?: SheetReading | undefined;
}

/** The bulk grant that had these rows first. */
interface BulkContent {
  readonly bulkGrantId: string;
}

/** The latest revision of a bulk grant that has this content. */
interface RevisionContent {
  readonly revision: number;
}

export const bulkGrantRef = (programId: string, bulkGrantId: string): Ref<"bulkGrant"> =>
  ref("bulkGrant", programId, bulkGrantId);
export const bulkRevisionRef = (
  programId: string,
  bulkGrantId: string,
  number: number,
): Ref<"bulkRevision"> => ref("bulkRevision", programId, bulkGrantId, number);
export const bulkSummaryRef = (
  programId: string,
  bulkGrantId: string,
  revision: number,
): Ref<"bulkSummary"> => ref("bulkSummary", programId, bulkGrantId, revision);
export const bulkActionRef = (
  programId: string,
  bulkGrantId: string,
  number: number,
): Ref<"bulkAction"> => ref("bulkAction", programId, bulkGrantId, number);
export const bulkContentRef = (programId: string, rowsDigest: string): Ref<"bulkContent"> =>
  ref("bulkContent", programId, rowsDigest);
export const revisionContentRef = (
  programId: string,
  bulkGrantId: string,
  contentHash: string,
): Ref<"revisionContent"> => ref("revisionContent", programId, bulkGrantId, contentHash);
export const pendingUploadRef = (uploadId: string): Ref<"pendingUpload"> =>
  ref("pendingUpload", uploadId);
export const blockCheckRef = (uploadId: string, block: number): Ref<"blockCheck"> =>
  ref("blockCheck", uploadId, block);
export const blockOutcomeRef = (uploadId: string, block: number): Ref<"blockOutcome"> =>
  ref("blockOutcome", uploadId, block);
export const pointsWindowRef = (programId: string): Ref<"pointsWindow"> =>
  ref("pointsWindow", programId);
