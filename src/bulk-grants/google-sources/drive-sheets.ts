/** The sheets in a folder of Google Drive: files of sheets, and spreadsheets by their first tab. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { drive_v3 } from "@googleapis/drive";
import { checkVersion, versionOf, versionOfText } from "../../platform/objects/paths.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { isSheetName } from "../sources/files.ts";
import type { SourceFile, VersionedFile } from "../sources/source.ts";
import { answerOf, statusOf } from "./auth.ts";
import { childrenNamed, type DriveFolder, sharedDrives } from "./drive-folder.ts";
import { readTab } from "./read-tab.ts";
import { firstTab } from "./tabs.ts";

/** The longest time to read a whole file, in ms. Storing its rows is part of it. */
const downloadTimeoutMs = 600_000;

export const spreadsheetType = "application/vnd.google-apps.spreadsheet";

/** A sheet as a list of the folder has it. */
interface ListedSheet {
  readonly id: string;
  readonly path: string;
  /** Its address in a browser, which stays the same when it is moved. */
  readonly url: string;
  /** Of the bytes of a file. A document of Google's editors has none. */
  readonly sha256: string | undefined;
  readonly modifiedTime: number;
}

/** A sheet with its content. */
interface DriveSheet extends Pick<ListedSheet, "id" | "url">, VersionedFile {
  readonly isSpreadsheet: boolean;
  /** Opens the bytes, of a spreadsheet in CSV. Throws what made them unreadable. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** The sheets of a name and, if there is one, of a version, oldest first. */
export async function sheetsOf(
  folder: DriveFolder,
  { path, version }: SourceFile,
): Promise<DriveSheet[]> {
  const found: DriveSheet[] = [];
  for await (const child of childrenNamed(folder, path)) {
    for (const listed of listedSheet(child)) {
      const sheet = await readSheet(folder, listed);
      if ((version ?? sheet.version) === sheet.version) found.push(sheet);
    }
  }
  return found;
}

/**
 * Those of the files that are sheets, with their versions. Spreadsheets and workbooks that were
 * changed after `quietSince` are left out, because a person may still write in them.
 */
export async function versionsOf(
  folder: DriveFolder,
  files: readonly drive_v3.Schema$File[],
  quietSince: number,
): Promise<VersionedFile[]> {
  const found = new Map<string, VersionedFile>();
  for (const listed of files.flatMap(listedSheet)) {
    if (isEditable(listed) && !(listed.modifiedTime <= quietSince)) continue;
    const { path, version } = await readSheet(folder, listed);
    found.set(`${version} ${path}`, { path, version });
  }
  return [...found.values()];
}

/** Whether people can write in it in a browser. */
const isEditable = ({ sha256, path }: ListedSheet): boolean =>
  sha256 === undefined || /\.xlsx$/i.test(path);

/** The sheet, or nothing when the file is none. */
function listedSheet(file: drive_v3.Schema$File): ListedSheet[] {
  const { id, name, mimeType, sha256Checksum: sha256, modifiedTime, webViewLink } = file;
  if (!id || !name) return [];
  if (mimeType !== spreadsheetType && !(sha256 && isSheetName(name))) return [];
  const time = Date.parse(modifiedTime ?? "");
  return [
    { id, path: name, url: webViewLink ?? "", sha256: sha256 ?? undefined, modifiedTime: time },
  ];
}

async function readSheet(folder: DriveFolder, listed: ListedSheet): Promise<DriveSheet> {
  const { id, path, url, sha256 } = listed;
  if (sha256 === undefined) return readSpreadsheet(folder, listed);
  const version = versionOf(sha256);
  // The content may have changed since its version was read.
  const open = () => checkVersion(download(folder, listed), path, version);
  return { id, path, url, version, isSpreadsheet: false, open };
}

/**
 * Reads the first tab. The version is that of its values, so that neither a move nor a format is
 * new content. A document that cannot be read has a version, too, so that it holds up no other one:
 * whoever opens it gets the error.
 */
async function readSpreadsheet(
  { sheets: api }: DriveFolder,
  { id, path, url }: ListedSheet,
): Promise<DriveSheet> {
  const sheet = { id, path, url, isSpreadsheet: true };
  try {
    const tab = await firstTab({ api, spreadsheetId: id });
    if (!tab) throw noGrid(path);
    const csv = await readTab({ api, spreadsheetId: id }, tab);
    const sha256 = createHash("sha256");
    for await (const bytes of csv()) sha256.update(bytes);
    return { ...sheet, version: versionOf(sha256.digest("hex")), open: csv };
  } catch (error) {
    const refused = refusalOf(error, sheet);
    const open = () => {
      throw refused;
    };
    return { ...sheet, version: versionOfText(`${id} ${refused.message}`), open };
  }
}

const noGrid = (path: string) =>
  new DomainError("INVALID_REQUEST", `the first tab of ${path} has no cells`);

/**
 * A document that is not shared is a refusal, and so is a file whose owner or Google forbids its
 * download: trying again would not help before it is allowed.
 */
function refusalOf(error: unknown, { url }: Pick<ListedSheet, "url">): Error {
  const { message } = error as Error;
  if (![403, 404].includes(statusOf(error) ?? 0)) return error as Error;
  return new DomainError("PERMISSION_DENIED", `${url} cannot be read: ${message}`);
}

async function* download({ drive }: DriveFolder, listed: ListedSheet): AsyncGenerator<Uint8Array> {
  const params = { fileId: listed.id, alt: "media", ...sharedDrives };
  const options = { responseType: "stream", timeout: downloadTimeoutMs } as const;
  try {
    yield* await answerOf<Readable>(drive.files.get(params, options));
  } catch (error) {
    // One that was deleted meanwhile is not found by the next attempt.
    throw statusOf(error) === 403 ? refusalOf(error, listed) : error;
  }
}
