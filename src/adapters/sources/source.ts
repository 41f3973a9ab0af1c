/** The interface of one configured source of rows, which every kind of source implements. */
import type { FailedRow } from "../../app/ports/bulk-grants.ts";
import type { Page } from "../../app/ports/pages.ts";

/**
 * One configured source. A path is that of a file in the source; a Google spreadsheet has its tabs
 * as files. Methods throw DomainError INVALID_REQUEST when no file has this path, and any other
 * error as it comes, because Temporal retries it.
 */
export interface Source {
  /**
   * Opens a file. Resolves when the file exists and can be read. With a version, also throws
   * INVALID_REQUEST (at once, or at the end of the bytes) when the content has another version.
   */
  open(file: SourceFile): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Lists up to 100 files that are not moved yet, in an order that does not change. A page may be
   * empty while it has a cursor. A spreadsheet has no files.
   */
  listNew(cursor?: string): Promise<Page<VersionedFile>>;
  /**
   * Moves a file to the folder `done` or `failed` of the source, which is made when it is missing.
   * A file there keeps its content; the moved one gets another name. Does nothing when the file is
   * not there any more, or has another version, so that two pick-ups may overlap.
   */
  move(file: SourceFile, to: "done" | "failed"): Promise<void>;
  /** Writes failed rows back. Absent where the source cannot have them. */
  writeFailures?(
    path: string,
    of: { readonly bulkGrantId: string; readonly revision: number },
    failures: AsyncIterable<FailedRow>,
  ): Promise<void>;
  /** Where people find the file, as http(s); undefined when it has no address. */
  urlOf(path: string): string | undefined;
}

/** A file by its path. Without a version, any content will do. */
export interface SourceFile {
  readonly path: string;
  /** The first 12 hex digits of a SHA-256 that changes whenever the content changes. */
  readonly version?: string;
}

export interface VersionedFile extends SourceFile {
  readonly version: string;
}
