/** The interface of a place that keeps objects, such as a local folder or a prefix of a bucket. */
import type { Page, PageRequest } from "../ports/pages.ts";

/**
 * Keeps objects by their paths, which are relative and have no `.`, `..` or empty parts; any other
 * path names no object. Throws INVALID_REQUEST when a link or a file is in place of a folder to be
 * written to, or an object has changed, and any other error as it comes, so that the caller decides
 * about a retry.
 */
export interface ObjectStore {
  /**
   * Opens an object; undefined when there is none. With a version, throws INVALID_REQUEST (at once,
   * or at the end of the bytes) when the content has another one.
   */
  open(path: string, version?: string | undefined): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Reads a small object; undefined when there is none. Throws WRONG_STATE when something else than
   * an object has its path.
   */
  read(path: string): Promise<Uint8Array | undefined>;
  /**
   * Lists the objects directly in a folder whose names are wanted, in an order that does not
   * change; `""` is the place itself. A page may be empty while it has a cursor.
   */
  list(
    folder: string,
    isWanted: (name: string) => boolean,
    page: PageRequest,
  ): Promise<Page<ListedObject>>;
  /** Writes an object, which is there whole or not at all. Replaces an earlier one. */
  put(path: string, content: Content): Promise<void>;
  /** Moves an object and replaces another one. Returns false when there is no such object. */
  rename(from: string, to: string): Promise<boolean>;
  /**
   * Moves an object to the first of these names that is free in a folder. Does nothing when the
   * object is not there any more, or has another version, so that two moves may overlap. Returns
   * the new path.
   */
  moveToFree(
    object: VersionedPath,
    folder: string,
    names: Iterable<string>,
  ): Promise<string | undefined>;
  /** Deletes an object, if it is there. */
  remove(path: string): Promise<void>;
  /** The address in a browser of an object, or of a folder whose path ends with `/` or is empty. */
  urlOf(path: string): string | undefined;
}

/** An object by its path. Without a version, any content will do. */
export interface VersionedPath {
  readonly path: string;
  /** The first 12 hex digits of a SHA-256 that changes whenever the content changes. */
  readonly version?: string | undefined;
}

/** An object of a list, by its name in the folder. */
export interface ListedObject {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** The version of the content; undefined while it may still be written. */
  version(): Promise<string | undefined>;
}

/** The bytes of an object, and their media type for places that keep it. */
export interface Content {
  readonly bytes: Uint8Array | AsyncIterable<string>;
  readonly type: string;
}
