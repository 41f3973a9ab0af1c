/** What the sources that have files share: paths, versions and the error of a missing file. */
import { createHash } from "node:crypto";
import { DomainError } from "../../domain/errors.ts";

/** The most files of one page of new files. */
export const newFilesPageSize = 100;

/** The version of a content, from its SHA-256 or that of a text which changes with it. */
export const versionOf = (sha256: Buffer): string => sha256.toString("hex").slice(0, 12);

/** The version of a content that a text identifies, such as an ETag. */
export const versionOfText = (text: string): string =>
  versionOf(createHash("sha256").update(text).digest());

/** Whether the path stays below its source: relative, without `.`, `..` and empty parts. */
export const isPlainPath = (path: string): boolean =>
  !path.includes("\0") && path.split("/").every((part) => !["", ".", ".."].includes(part));

/** Whether a pick-up takes a file of this name: `*.csv` in any case, and not hidden. */
export const isPickedUp = (name: string): boolean => /^[^.].*\.csv$/i.test(name);

/** The name that a file gets when another one in `done` or `failed` has its name. */
export const otherName = (name: string, attempt: number): string =>
  name.replace(/(\.[^.]*)?$/, (extension) => `-${attempt}${extension}`);

export const noSuchFile = (path: string): DomainError =>
  new DomainError("INVALID_REQUEST", `the source has no file ${JSON.stringify(path)}`, {
    field: "source",
  });

export const otherVersion = (path: string): DomainError =>
  new DomainError("INVALID_REQUEST", `${JSON.stringify(path)} has changed since it was listed`, {
    field: "source",
  });
