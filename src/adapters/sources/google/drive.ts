/** A folder of Google Drive as a source of rows. */
import type { Readable } from "node:stream";
import type { drive_v3 } from "@googleapis/drive";
import type { Page } from "../../../app/ports/pages.ts";
import { DomainError } from "../../../domain/errors.ts";
import type { DefinitionOf } from "../definitions.ts";
import type { Source, SourceFile, VersionedFile } from "../source.ts";
import { answerOf, driveScope, readServiceAccountKey, signIn } from "./auth.ts";
import { checkVersion, shortHash } from "./check-version.ts";

type Definition = Pick<DefinitionOf<"drive">, "folder_id" | "key_file" | "endpoint">;

/** The longest time to read a whole file, in ms. Storing its rows is part of it. */
const downloadTimeoutMs = 600_000;
const pageSize = 100;
const folderType = "application/vnd.google-apps.folder";

/** Without this, Drive has no shared drives. */
const sharedDrives = { supportsAllDrives: true };

/** A file with content of its own; documents of Google's editors have none. */
interface CsvFile extends VersionedFile {
  readonly id: string;
}

interface Folder {
  readonly drive: drive_v3.Drive;
  readonly folderId: string;
}

/**
 * Opens a Drive folder, in My Drive or in a shared drive. Its files are those named `*.csv`
 * directly in it; Drive shows a file only when its upload is complete. Names need not be unique in
 * Drive, so a file is named by its name and version, and files of one name and content are one.
 * Throws when the key file cannot be used; does not call Google yet.
 */
export function createDriveSource({ folder_id, key_file, endpoint }: Definition): Source {
  const key = readServiceAccountKey(key_file);
  const connect = async (): Promise<Folder> => {
    const { auth, drive } = await import("@googleapis/drive");
    const account = signIn(auth.JWT, key, driveScope);
    const rootUrl = endpoint === undefined ? {} : { rootUrl: endpoint };
    return { drive: drive({ version: "v3", auth: account, ...rootUrl }), folderId: folder_id };
  };
  let connected: Promise<Folder> | undefined;
  const folder = () => {
    connected ??= connect();
    return connected;
  };
  return {
    open: async (file) => openFile(await folder(), file),
    listNew: async (cursor) => listNew(await folder(), cursor),
    move: async (file, to) => moveFile(await folder(), file, to),
    urlOf: () => `https://drive.google.com/drive/folders/${folder_id}`,
  };
}

async function openFile(folder: Folder, file: SourceFile): Promise<AsyncIterable<Uint8Array>> {
  const found = await filesOf(folder, file);
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
  // The content may have changed since its version was read.
  return checkVersion(download(folder, first.id), file);
}

async function* download({ drive }: Folder, fileId: string): AsyncGenerator<Uint8Array> {
  const params = { fileId, alt: "media", ...sharedDrives };
  const options = { responseType: "stream", timeout: downloadTimeoutMs } as const;
  yield* await answerOf<Readable>(drive.files.get(params, options));
}

async function listNew(
  folder: Folder,
  pageToken: string | undefined,
): Promise<Page<VersionedFile>> {
  const { files = [], nextPageToken } = await readChildren(folder, "", pageToken);
  const found = new Map<string, VersionedFile>();
  for (const { path, version } of files.flatMap(csvFileOf)) {
    found.set(`${version} ${path}`, { path, version });
  }
  return { items: [...found.values()], ...(nextPageToken && { cursor: nextPageToken }) };
}

/**
 * Moves every file of this name and version. A move that fails although the file has left the
 * folder has met another pick-up's, or has succeeded without an answer: nothing is left to do.
 */
async function moveFile(folder: Folder, file: SourceFile, to: "done" | "failed"): Promise<void> {
  const { drive, folderId } = folder;
  const found = await filesOf(folder, file);
  if (found.length === 0) return;
  const target = await subfolder(folder, to);
  for (const { id } of found) {
    const moving = drive.files.update({
      fileId: id,
      addParents: target,
      removeParents: folderId,
      fields: "id",
      ...sharedDrives,
    });
    try {
      await answerOf(moving);
    } catch (error) {
      if (await isInFolder(folder, id)) throw error;
    }
  }
}

async function isInFolder({ drive, folderId }: Folder, fileId: string): Promise<boolean> {
  const params = { fileId, fields: "parents", ...sharedDrives };
  const { parents } = await answerOf(drive.files.get(params));
  return parents?.includes(folderId) ?? false;
}

/**
 * The id of a folder in the source's folder, which is made when it is missing. Two pick-ups may
 * both make it, because Drive does not keep names unique: from then on all use the older one.
 */
async function subfolder(folder: Folder, name: string): Promise<string> {
  const existing = await oldestSubfolder(folder, name);
  if (existing !== undefined) return existing;
  const requestBody = { name, mimeType: folderType, parents: [folder.folderId] };
  const made = await answerOf(
    folder.drive.files.create({ requestBody, fields: "id", ...sharedDrives }),
  );
  return (await oldestSubfolder(folder, name)) ?? (made.id as string);
}

async function oldestSubfolder(folder: Folder, name: string): Promise<string | undefined> {
  const filter = `and name = ${quoted(name)} and mimeType = '${folderType}'`;
  for await (const file of children(folder, filter)) {
    if (file.name === name) return file.id as string;
  }
  return undefined;
}

/** The files of a name and, if there is one, of a version, oldest first. */
async function filesOf(folder: Folder, { path, version }: SourceFile): Promise<CsvFile[]> {
  const found: CsvFile[] = [];
  for await (const child of children(folder, `and name = ${quoted(path)}`)) {
    const [file] = csvFileOf(child);
    // Drive compares names without regard to case.
    if (file?.path === path && (version ?? file.version) === file.version) found.push(file);
  }
  return found;
}

/** The CSV file, or nothing when it is none. */
function csvFileOf({ id, name, sha256Checksum }: drive_v3.Schema$File): CsvFile[] {
  const isCsv = id && name && sha256Checksum && /\.csv$/i.test(name);
  return isCsv ? [{ id, path: name, version: shortHash(sha256Checksum) }] : [];
}

/** What is directly in the folder and not in the trash, oldest first. */
async function* children(folder: Folder, filter: string): AsyncGenerator<drive_v3.Schema$File> {
  let pageToken: string | undefined;
  do {
    const page = await readChildren(folder, filter, pageToken);
    yield* page.files ?? [];
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
}

/** One page of these. */
function readChildren(
  { drive, folderId }: Folder,
  filter: string,
  pageToken: string | undefined,
): Promise<drive_v3.Schema$FileList> {
  return answerOf(
    drive.files.list({
      q: `${quoted(folderId)} in parents and trashed = false ${filter}`.trim(),
      orderBy: "createdTime,name",
      fields: "nextPageToken,files(id,name,sha256Checksum)",
      includeItemsFromAllDrives: true,
      pageSize,
      ...(pageToken !== undefined && { pageToken }),
      ...sharedDrives,
    }),
  );
}

/** A text in Drive's query language. */
const quoted = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;
