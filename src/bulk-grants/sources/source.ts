/** The interface of one configured source of rows, which every kind of source implements. */

import type { VersionedPath } from "../../platform/objects/object-store.ts";
import type { Page } from "../../platform/ports/pages.ts";
import type { ErrorSheet } from "../ports/bulk-grants.ts";
import type { SheetAddress } from "../rules/bulk-grant.ts";
import type { SheetEncoding } from "../rules/sheet-reading.ts";
import type { Folder } from "./files.ts";

/**
 * One configured source. A path is that of a file in the source. Methods throw DomainError
 * INVALID_REQUEST when no file has this path, and any other error as it comes, because Temporal
 * retries it.
 */
export interface Source {
  /**
   * Opens a file. Resolves when the file exists and can be read. With a version, also throws
   * INVALID_REQUEST (at once, or at the end of the bytes) when the content has another version.
   */
  open(file: SourceFile): Promise<OpenFile>;
  /**
   * Lists up to 100 files that are not moved yet, in an order that does not change. A page may be
   * empty while it has a cursor.
   */
  listNew(cursor?: string): Promise<Page<VersionedFile>>;
  /**
   * Moves a file to the folder `done` or `failed` of the source, which is made when it is missing.
   * A file there keeps its content; the moved one gets another name. Does nothing when the file is
   * not there any more, or has another version, so that two pick-ups may overlap. Returns where
   * the file is then; names of places are paths in the source.
   */
  move(file: SourceFile, to: Folder): Promise<SheetAddress | undefined>;
  /**
   * Writes what is wrong with the sheet of a file, which may have been moved: to a tab of the
   * spreadsheet, or to a file in `failed`, which replaces that of an earlier failure.
   */
  writeErrors(file: FaultyFile, errors: ErrorSheet): Promise<SheetAddress>;
}

/** The bytes of a file. */
export interface OpenFile {
  readonly csv: AsyncIterable<Uint8Array>;
  /** Where people find it, as http(s), also after a move; absent when it has no address. */
  readonly url?: string | undefined;
  /** The encoding of its CSV files by the definition; absent where a sheet shows it by itself. */
  readonly encoding?: SheetEncoding | undefined;
}

/** A file by its path and, where it matters, by its version. */
export type SourceFile = VersionedPath;

/** A file with something wrong in it, and the address with which it was opened, if it is known. */
export interface FaultyFile extends SourceFile {
  readonly url?: string | undefined;
}

export interface VersionedFile extends SourceFile {
  readonly version: string;
}
