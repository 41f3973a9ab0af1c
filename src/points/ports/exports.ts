/** Exports of ledgers: the configured destinations, and the form of what is written there. */

import type { Act } from "../../acts/rules/act.ts";
import type { Window } from "../../platform/ports/pages.ts";
import type { ExportedEntries } from "../contract/exports.ts";
import type { LedgerEntry } from "../rules/ledger.ts";
import type { AccountName } from "./points.ts";

/** The configured places to which exports are written, by name. */
export interface ExportDestinations {
  /**
   * The folder of one export. Throws INVALID_REQUEST when no destination has this name, and
   * PERMISSION_DENIED when it is not for the program.
   */
  folder(destination: string, name: ExportName): ExportFolder;
}

/** Names an export. Both ids are plain names of folders. */
export interface ExportName {
  readonly programId: string;
  readonly exportId: string;
}

/**
 * The files of one export. Their names have no slash. Throws DESTINATION_UNAVAILABLE when the
 * destination fails, and WRONG_STATE when something else than a file has the name of one.
 */
export interface ExportFolder {
  /** The content of a file; undefined when there is none. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Writes a file, which is there whole or not at all. Replaces an earlier one. */
  write(name: string, content: Uint8Array): Promise<void>;
  /** Renames a file and replaces an earlier one. Returns false when there is no such file. */
  rename(from: string, to: string): Promise<boolean>;
  /** The bytes of all files, by name. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Deletes a file, if it is there. */
  remove(name: string): Promise<void>;
}

/** The form of the files, which the contract defines. */
export interface ExportFormat {
  /** The line of an entry, without its end. Throws for one that the contract cannot express. */
  line(account: AccountName, entry: LedgerEntry): string;
  /** The line of an act, without its end. */
  actLine(act: Act): string;
  manifest(manifest: ExportManifest): string;
  /** Throws when the text is no manifest. */
  readManifest(text: string): ExportManifest;
}

/** The manifest of an export, which lists its parts. */
export interface ExportManifest extends ExportName, Omit<ExportedEntries, "parts" | "bytes"> {
  readonly window: ExportWindow;
  readonly parts: readonly ExportedPart[];
  readonly acts: ExportedActs;
}

/** The files of acts, and how many acts are in none of them. */
export interface ExportedActs {
  readonly parts: readonly ExportedPart[];
  readonly unreadable: number;
  /** The keys of the first 100 acts that could not be read. */
  readonly unreadables: readonly string[];
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

/** The instants between which the exported entries were recorded. */
export interface ExportWindow extends Window {
  readonly end: number;
}
