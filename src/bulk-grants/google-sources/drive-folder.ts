/** A folder of Google Drive: what is in it, and the folders `done` and `failed`. */
import type { drive_v3 } from "@googleapis/drive";
import type { sheets_v4 } from "@googleapis/sheets";
import type { Folder } from "../sources/files.ts";
import { answerOf } from "./auth.ts";

const pageSize = 100;
const folderType = "application/vnd.google-apps.folder";

/** Without this, Drive has no shared drives. */
export const sharedDrives = { supportsAllDrives: true };

/** The folder of a source, with the clients that read and write what is in it. */
export interface DriveFolder {
  readonly drive: drive_v3.Drive;
  readonly sheets: sheets_v4.Sheets;
  readonly folderId: string;
  /** Another address than Google's, which the client of Drive forgets for uploads. */
  readonly rootUrl: string | undefined;
  /** The folders that are being found or made now, by name. */
  readonly findings: Map<Folder, Promise<string>>;
}

/** Reads a page of what is directly in a folder and not in the trash, oldest first. */
export function readChildren(
  { drive, folderId }: Pick<DriveFolder, "drive" | "folderId">,
  filter: string,
  pageToken: string | undefined,
): Promise<drive_v3.Schema$FileList> {
  const fields = "id,name,mimeType,sha256Checksum,modifiedTime,webViewLink";
  return answerOf(
    drive.files.list({
      q: `${quoted(folderId)} in parents and trashed = false ${filter}`.trim(),
      orderBy: "createdTime,name",
      fields: `nextPageToken,files(${fields})`,
      includeItemsFromAllDrives: true,
      pageSize,
      ...(pageToken !== undefined && { pageToken }),
      ...sharedDrives,
    }),
  );
}

/** Yields what has this name in a folder, oldest first. */
export async function* childrenNamed(
  folder: Pick<DriveFolder, "drive" | "folderId">,
  name: string,
  filter = "",
): AsyncGenerator<drive_v3.Schema$File> {
  let pageToken: string | undefined;
  do {
    const page = await readChildren(folder, `and name = ${quoted(name)} ${filter}`, pageToken);
    // Drive compares names without regard to case.
    yield* (page.files ?? []).filter((file) => file.name === name);
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
}

/**
 * The id of a folder in the source's folder, which is made when it is missing. Files of one
 * process that need it at once find it together. Two processes may both make it, because Drive
 * does not keep names unique: from then on all use the older one.
 */
export function subfolder(folder: DriveFolder, name: Folder): Promise<string> {
  const { findings } = folder;
  const finding =
    findings.get(name) ?? findOrMake(folder, name).finally(() => findings.delete(name));
  findings.set(name, finding);
  return finding;
}

async function findOrMake(folder: DriveFolder, name: Folder): Promise<string> {
  const existing = await oldest(folder, name);
  if (existing !== undefined) return existing;
  const requestBody = { name, mimeType: folderType, parents: [folder.folderId] };
  const made = await answerOf(
    folder.drive.files.create({ requestBody, fields: "id", ...sharedDrives }),
  );
  return (await oldest(folder, name)) ?? (made.id as string);
}

async function oldest(folder: DriveFolder, name: string): Promise<string | undefined> {
  const { value } = await childrenNamed(folder, name, `and mimeType = '${folderType}'`).next();
  return value?.id ?? undefined;
}

/** A text in Drive's query language. */
const quoted = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;
