/** The export of a program's ledger entries to files. */
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import { quantity } from "../../platform/words/quantities.ts";
import type { JobKind } from "./jobs.ts";

/** Which entries are exported, and where to. */
export type ExportRequest = {
  readonly destination: string;
  /** Milliseconds since 1970, included. Absent: from the first entry of each account. */
  readonly start?: number | undefined;
  /** Milliseconds since 1970, excluded. */
  readonly end: number;
};

/** The size of an export: its entries, its files and their bytes. */
export interface ExportedEntries {
  readonly entries: number;
  readonly parts: number;
  /** Compressed. */
  readonly bytes: number;
  readonly unreadable: number;
  /** The first 100 entries that could not be read. */
  readonly unreadables: readonly UnreadableEntry[];
}

/** An entry whose stored form cannot be read. */
export interface UnreadableEntry {
  readonly userId: string;
  readonly number: number;
}

/** An operator reads the first ones here; the manifest has 100. */
const maxNamed = 20;

export const exportKind: JobKind<ExportedEntries, ExportRequest> = {
  name: "export-ledger",
  workflowType: workflowTypes.exportLedger,
  segments: 4,
  nothing: { entries: 0, parts: 0, bytes: 0, unreadable: 0, unreadables: [] },
  sentence({ entries, parts, bytes, unreadable, unreadables }, { destination }) {
    const named = unreadables
      .slice(0, maxNamed)
      .map(({ user_id, number }) => `${user_id} ${number}`);
    const names = named.length > 0 ? `: ${named.join(", ")}` : "";
    return (
      `Exported ${quantity(entries, "entry", "entries")} in ${quantity(parts, "part")} of ` +
      `${quantity(bytes, "byte")} to ${destination}; ${unreadable} could not be read${names}.`
    );
  },
};
