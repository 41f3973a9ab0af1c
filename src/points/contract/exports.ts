/** The export of a program's ledger entries to files. */
import { maxReports } from "../../platform/words/counted.ts";

export const exportWorkflowId = (programId: string, exportId: string): string =>
  `export-ledger/${programId}/${exportId}`;

/** The query for the counts of an export so far. */
export const exportQuery = "report";

/** The number of disjoint parts of the table that an export scans concurrently. */
export const exportSegments = 4;

/** The file that is written last, which lists the parts. */
export const manifestName = "manifest.json";

/** The name of a part, by its segment and its number there, from 1. */
export const partName = (segment: number, number: number): string =>
  `part-${segment}-${String(number).padStart(6, "0")}.jsonl.gz`;

/** Which entries are exported, and where to. */
export interface ExportAsked {
  readonly program_id: string;
  readonly export_id: string;
  readonly destination: string;
  /** Milliseconds since 1970, included. Absent: from the first entry of each account. */
  readonly create_time_from?: number;
  /** Milliseconds since 1970, excluded. */
  readonly create_time_before: number;
}

/** Starts an export. */
export interface ExportLedgerInput extends ExportAsked {
  /** Set by continue-as-new. */
  readonly so_far?: ExportProgress;
}

/** What the runs before this one have exported, and the segments that they have left. */
interface ExportProgress {
  readonly report: ExportReport;
  readonly parts: readonly ExportedPart[];
  readonly segments: readonly ExportSegmentLeft[];
}

/** A segment of the table that is left, and where it continues. */
export interface ExportSegmentLeft {
  readonly segment: number;
  /** Absent at the start of the segment. */
  readonly cursor?: string;
}

/** The counts of an export so far. */
export interface ExportReport {
  readonly entries: number;
  readonly parts: number;
  readonly bytes: number;
  readonly unreadable: number;
  /** The first 100 entries that could not be read. */
  readonly unreadables: readonly UnreadableEntry[];
}

/** An entry that could not be read. */
export interface UnreadableEntry {
  readonly user_id: string;
  readonly number: number;
}

/** A file of lines, as the manifest lists it. */
export interface ExportedPart {
  readonly name: string;
  readonly entries: number;
  /** Compressed. */
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** What the first step has found. */
export interface ExportOpened {
  /** The counts of a manifest that was there already: the export is complete. */
  readonly complete?: ExportReport;
}

/** Writes the entries of a segment to one file, for one step. */
export interface ExportSegmentInput extends ExportAsked, ExportSegmentLeft {
  readonly segments: number;
}

/** What one step has written. At the end of the segment there is no cursor. */
export interface ExportSegmentResult {
  readonly cursor?: string;
  readonly unreadable: number;
  readonly unreadables: readonly UnreadableEntry[];
  /** The file, under a name of this attempt alone; absent when no entry was found. */
  readonly part?: ExportedPart;
}

/** Gives the file of a step its name. */
export interface KeepPartInput extends ExportAsked {
  readonly from: string;
  readonly to: string;
}

/** Writes the manifest. */
export interface FinishExportInput extends ExportAsked {
  readonly parts: readonly ExportedPart[];
  readonly report: ExportReport;
}

export const emptyExport: ExportReport = {
  entries: 0,
  parts: 0,
  bytes: 0,
  unreadable: 0,
  unreadables: [],
};

/** Adds what a step has written; unreadable entries beyond the first 100 are not named. */
export const addStep = (
  total: ExportReport,
  { part, unreadable, unreadables }: ExportSegmentResult,
): ExportReport => ({
  entries: total.entries + (part?.entries ?? 0),
  parts: total.parts + (part ? 1 : 0),
  bytes: total.bytes + (part?.bytes ?? 0),
  unreadable: total.unreadable + unreadable,
  unreadables: [...total.unreadables, ...unreadables].slice(0, maxReports),
});
