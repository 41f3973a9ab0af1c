/** A folder of Google Drive as a source of rows. */

import type { Page } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { ErrorSheet } from "../ports/bulk-grants.ts";
import type { SheetAddress } from "../rules/bulk-grant.ts";
import type { DefinitionOf } from "../sources/definitions.ts";
import { type Folder, namesIn } from "../sources/files.ts";
import type { FaultyFile, OpenFile, Source, SourceFile, VersionedFile } from "../sources/source.ts";
import { answerOf, readServiceAccountKey, signIn } from "./auth.ts";
import { writeErrorsFile } from "./drive-errors.ts";
import { type DriveFolder, readChildren, sharedDrives, subfolder } from "./drive-folder.ts";
import { sheetsOf, spreadsheetType, versionsOf } from "./drive-sheets.ts";
import { spreadsheetIdIn } from "./tabs.ts";
import { writeTab } from "./write-tab.ts";

type Definition = Pick<
  DefinitionOf<"drive">,
  "folder_id" | "key_file" | "endpoint" | "quiet_minutes"
>;

/** A spreadsheet that a person changed less than this many minutes ago may still be changed. */
const defaultQuietMinutes = 5;

/**
 * Opens a Drive folder, in My Drive or in a shared drive. Its files are the spreadsheets and those
 * named `*.csv` or `*.xlsx` directly in it; Drive shows a file only when its upload is complete.
 * Names need not be unique in Drive, so a file is named by its name and version, and files of one
 * name and content are one. Throws when the key file cannot be used; does not call Google yet.
 */
export function createDriveSource(definition: Definition): Source {
  const { folder_id: folderId, key_file, endpoint } = definition;
  const quietMs = (definition.quiet_minutes ?? defaultQuietMinutes) * 60_000;
  const key = readServiceAccountKey(key_file);
  const connect = async (): Promise<DriveFolder> => {
    const { auth, drive } = await import("@googleapis/drive");
    const { sheets } = await import("@googleapis/sheets");
    const account = {
      auth: signIn(auth.JWT, key),
      ...(endpoint !== undefined && { rootUrl: endpoint }),
    };
    return {
      drive: drive({ version: "v3", ...account }),
      sheets: sheets({ version: "v4", ...account }),
      folderId,
      rootUrl: endpoint,
      findings: new Map(),
    };
  };
  let connected: Promise<DriveFolder> | undefined;
  const folder = () => {
    connected ??= connect();
    return connected;
  };
  return {
    open: async (file) => openFile(await folder(), file),
    listNew: async (cursor) => listNew(await folder(), cursor, Date.now() - quietMs),
    move: async (file, to) => moveFile(await folder(), file, to),
    writeErrors: async (file, errors) => writeErrors(await folder(), file, errors),
  };
}

async function openFile(folder: DriveFolder, file: SourceFile): Promise<OpenFile> {
  const found = await sheetsOf(folder, file);
  const [first] = found;
  if (first === undefined) {
    throw new DomainError(
      "INVALID_REQUEST",
      `the folder has no file ${file.path} of this version`,
      {
        field: "source",
      },
    );
  }
  if (found.some(({ version }) => version !== first.version)) {
    throw new DomainError("INVALID_REQUEST", `the folder has several files ${file.path}`);
  }
  return { csv: first.open(), url: first.url };
}

async function listNew(
  folder: DriveFolder,
  pageToken: string | undefined,
  quietSince: number,
): Promise<Page<VersionedFile>> {
  const { files = [], nextPageToken } = await readChildren(folder, "", pageToken);
  const items = await versionsOf(folder, files, quietSince);
  return { items, cursor: nextPageToken || undefined };
}

/**
 * Moves every file of this name and version. A move that fails although the file has left the
 * folder has met another pick-up's, or has succeeded without an answer: nothing is left to do.
 */
async function moveFile(
  folder: DriveFolder,
  file: SourceFile,
  to: Folder,
): Promise<SheetAddress | undefined> {
  const { drive, folderId } = folder;
  const found = await sheetsOf(folder, file);
  const [first] = found;
  if (first === undefined) return undefined;
  const target = await subfolder(folder, to);
  const name = namesIn(to, file.path).next().value;
  for (const { id } of found) {
    const moving = drive.files.update({
      fileId: id,
      addParents: target,
      removeParents: folderId,
      ...(name !== file.path && { requestBody: { name } }),
      fields: "id",
      ...sharedDrives,
    });
    try {
      await answerOf(moving);
    } catch (error) {
      if (await isInFolder(folder, id)) throw error;
    }
  }
  return { name: `${to}/${name}`, url: first.url };
}

async function isInFolder({ drive, folderId }: DriveFolder, fileId: string): Promise<boolean> {
  const params = { fileId, fields: "parents", ...sharedDrives };
  const { parents } = await answerOf(drive.files.get(params));
  return parents?.includes(folderId) ?? false;
}

/** Writes errors to a tab of a spreadsheet, wherever it is now, or to a file. */
async function writeErrors(
  folder: DriveFolder,
  file: FaultyFile,
  errors: ErrorSheet,
): Promise<SheetAddress> {
  const spreadsheetId =
    file.url === undefined ? await idIn(folder, file) : await idAt(folder, file.url);
  if (spreadsheetId === undefined) return writeErrorsFile(folder, file.path, errors);
  const { name, url } = await writeTab({ api: folder.sheets, spreadsheetId }, errors);
  return { name: `${file.path}/${name}`, url };
}

/**
 * The id of the spreadsheet with an address. A workbook has the address of a spreadsheet, because
 * people can write in it in the browser, but Google Sheets has no tabs of it.
 */
async function idAt({ drive }: DriveFolder, url: string): Promise<string | undefined> {
  const fileId = spreadsheetIdIn(url);
  if (fileId === undefined) return undefined;
  const params = { fileId, fields: "mimeType", ...sharedDrives };
  const { mimeType } = await answerOf(drive.files.get(params));
  return mimeType === spreadsheetType ? fileId : undefined;
}

/** The id of a spreadsheet that is still in the folder. */
async function idIn(folder: DriveFolder, file: SourceFile): Promise<string | undefined> {
  const [first] = await sheetsOf(folder, file);
  return first?.isSpreadsheet ? first.id : undefined;
}
