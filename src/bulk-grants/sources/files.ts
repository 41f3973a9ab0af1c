/** The names that files of a source have and get, and the error of a missing one. */
import { versionOfText } from "../../platform/objects/paths.ts";
import { cutToBytes } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";

/** The most files of one page of new files. */
export const newFilesPageSize = 100;

const sheetEnd = /\.(csv|xlsx)$/i;

/**
 * Whether a file of this name is a sheet: `*.csv` or `*.xlsx` in any case. Excel makes a file that
 * begins with `~$` beside a workbook which somebody has opened.
 */
export const isSheetName = (name: string): boolean => sheetEnd.test(name) && !name.startsWith("~$");

/** Whether a pick-up takes a file of this name: a sheet that is not hidden. */
export const isPickedUp = (name: string): boolean => isSheetName(name) && /^[^.]./s.test(name);

/** The name of a sheet without its end. */
export const withoutEnd = (name: string): string => name.replace(sheetEnd, "");

/** The folders to which the files of a source are moved. */
export type Folder = "done" | "failed";

const isErrorsName = (name: string): boolean => /\.errors\.csv$/i.test(name);

/**
 * The name, in the folder `failed`, of the sheet that says what is wrong with the file of a path;
 * each path has its own. That of `spring.csv` is `spring.errors.csv`. Where another path could have
 * the same name (one with folders, another end than `.csv`, or what looks like a hash at its end),
 * the name has a hash of the path.
 */
export function errorsName(path: string): string {
  const name = path.replace(/\.csv$/i, "").replaceAll("/", "-");
  const isOnlyOne = path === `${name}.csv` && !/-[0-9a-f]{12}$/.test(name);
  return isOnlyOne ? fitting(name, errorsEnd, path) : hashed(name, errorsEnd, path);
}

const errorsEnd = ".errors.csv";

/** The most bytes in the name of a file, in most file systems. */
const maxNameBytes = 255;

/** Returns a name with an end; of one that is too long the beginning, and a hash of `whole`. */
const fitting = (name: string, end: string, whole: string): string =>
  Buffer.byteLength(name + end) <= maxNameBytes ? name + end : hashed(name, end, whole);

function hashed(name: string, end: string, whole: string): string {
  const hashedEnd = `-${versionOfText(whole)}${end}`;
  return cutToBytes(name, maxNameBytes - Buffer.byteLength(hashedEnd)) + hashedEnd;
}

/**
 * Yields the names that a file may get in a folder; it takes the first one that is free. A sheet of
 * errors that was dropped again leaves its name in `failed` to the next errors.
 */
export function* namesIn(folder: Folder, name: string): Generator<string, never> {
  if (folder !== "failed" || !isErrorsName(name)) yield name;
  const extension = /(\.[^.]*)?$/.exec(name)?.[0] ?? "";
  const base = name.slice(0, name.length - extension.length);
  for (let number = 2; ; number += 1) yield fitting(base, `-${number}${extension}`, base);
}

export const noSuchFile = (path: string): DomainError =>
  new DomainError("INVALID_REQUEST", `the source has no file ${JSON.stringify(path)}`, {
    field: "source",
  });
