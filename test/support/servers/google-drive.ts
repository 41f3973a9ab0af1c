/** Drive v3 on loopback: lists by query and page, streams, creates and moves. */
import { createHash } from "node:crypto";
import { GoogleError, type GoogleRequest } from "./google-wire.ts";

const folderType = "application/vnd.google-apps.folder";
const shortcutType = "application/vnd.google-apps.shortcut";
const spreadsheetType = "application/vnd.google-apps.spreadsheet";
const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** A file or a folder. */
interface DriveFile {
  readonly id: string;
  name: string;
  readonly mimeType: string;
  parents: string[];
  trashed: boolean;
  modifiedTime: string;
  content: Buffer | undefined;
}

/** The state of one Drive, which tests set up and read. */
export interface GoogleDrive {
  /** Adds a file with content, or without it a document of Google's editors. Returns its id. */
  add(file: { name: string; folderId: string; content?: string | Buffer }): string;
  /** Adds a spreadsheet, or a shortcut, that was changed an hour ago. Returns its id. */
  addDocument(kind: "spreadsheet" | "shortcut", name: string, folderId: string): string;
  /** Sets when a file was changed. */
  modify(id: string, time?: number): void;
  rename(id: string, name: string): void;
  /** A person moves a file to a folder. */
  moveTo(id: string, folderId: string): void;
  contentOf(id: string): string;
  /** The id of the first file of a name in a folder. */
  idOf(name: string, folderId: string): string;
  /** Adds a folder. Returns its id. */
  addFolder(name: string, folderId?: string): string;
  replaceContent(id: string, content: string): void;
  trash(id: string): void;
  /** The names of what is in a folder, in the order of creation. */
  namesIn(folderId: string): string[];
  /** The ids of the folders of a name in a folder. */
  foldersNamed(name: string, folderId: string): string[];
  /** The JSON that answers a request, or the bytes of a file. */
  answer(request: GoogleRequest): object | Buffer;
}

export function createDrive(): GoogleDrive {
  const files = new Map<string, DriveFile>();
  const add = (name: string, mimeType: string, parents: string[], content?: Buffer) => {
    const id = `file-${files.size + 1}`;
    const modifiedTime = new Date(Date.now() - 3_600_000).toISOString();
    files.set(id, { id, name, mimeType, parents, trashed: false, modifiedTime, content });
    return id;
  };
  const get = (id: string): DriveFile => {
    const file = files.get(id);
    if (!file) throw new GoogleError(404, `File not found: ${id}.`, "notFound");
    return file;
  };
  const inFolder = (folderId: string) =>
    [...files.values()].filter(({ parents }) => parents.includes(folderId));
  return {
    add({ name, folderId, content }) {
      if (content === undefined)
        return add(name, "application/vnd.google-apps.document", [folderId]);
      const type = name.endsWith(".xlsx") ? workbookType : "text/csv";
      return add(name, type, [folderId], Buffer.from(content));
    },
    addDocument: (kind, name, folderId) =>
      add(name, kind === "shortcut" ? shortcutType : spreadsheetType, [folderId]),
    modify(id, time = Date.now()) {
      get(id).modifiedTime = new Date(time).toISOString();
    },
    rename(id, name) {
      get(id).name = name;
    },
    moveTo(id, folderId) {
      get(id).parents = [folderId];
    },
    contentOf: (id) => contentOf(get(id)).toString(),
    idOf: (name, folderId) => inFolder(folderId).find((file) => file.name === name)?.id ?? "",
    addFolder: (name, folderId = "root") => add(name, folderType, [folderId]),
    replaceContent(id, content) {
      get(id).content = Buffer.from(content);
    },
    trash(id) {
      get(id).trashed = true;
    },
    namesIn: (folderId) =>
      inFolder(folderId).flatMap(({ name, trashed }) => (trashed ? [] : [name])),
    foldersNamed: (name, folderId) =>
      inFolder(folderId).flatMap((file) =>
        file.mimeType === folderType && file.name === name ? [file.id] : [],
      ),
    answer(request) {
      const { method, path, query } = request;
      const isUpload = path.startsWith("/upload/");
      const id = path.split("/")[isUpload ? 5 : 4] ?? "";
      if (query.get("supportsAllDrives") !== "true") throw new GoogleError(404, "no shared drives");
      if (method === "GET" && id === "") return list([...files.values()], query);
      if (method === "POST" && id === "") {
        const { name, mimeType, parents } = request.body as DriveFile;
        const content = mimeType === folderType ? undefined : Buffer.alloc(0);
        return picked(get(add(name, mimeType, parents, content)), query.get("fields"));
      }
      const file = get(id);
      if (method === "PATCH" && isUpload) upload(file, request);
      else if (method === "PATCH") update(file, request);
      else if (query.get("alt") === "media") return contentOf(file);
      return picked(file, query.get("fields"));
    },
  };
}

function contentOf({ content }: DriveFile): Buffer {
  if (!content) {
    const message = "Only files with binary content can be downloaded.";
    throw new GoogleError(403, message, "fileNotDownloadable");
  }
  return content;
}

function upload(file: DriveFile, { query, bytes }: GoogleRequest): void {
  if (query.get("uploadType") !== "media") throw new GoogleError(400, "no simple upload");
  file.content = bytes;
}

/** A file has one parent, and only that can be removed. */
function update(file: DriveFile, { query, body }: GoogleRequest): void {
  const { name = file.name, trashed = file.trashed } = (body ?? {}) as Partial<DriveFile>;
  Object.assign(file, { name, trashed });
  const added = query.get("addParents");
  const removed = query.get("removeParents");
  if (added === null && removed === null) return;
  if (!removed || !file.parents.includes(removed)) {
    throw new GoogleError(
      403,
      "Increasing the number of parents is not allowed",
      "cannotAddParent",
    );
  }
  file.parents = added ? [added] : [];
}

function list(files: readonly DriveFile[], query: URLSearchParams): object {
  const { test, folderId } = queryOf(query.get("q") ?? "");
  if (!files.some(({ id }) => id === folderId)) {
    throw new GoogleError(404, "File not found: .", "notFound");
  }
  if (!query.get("orderBy")?.startsWith("createdTime")) throw new GoogleError(400, "no order");
  const found = files.filter(test);
  const from = Number(query.get("pageToken") ?? "0");
  const to = from + Number(query.get("pageSize") ?? "100");
  const fields = /files\(([^)]*)\)/.exec(query.get("fields") ?? "")?.[1] ?? "";
  return {
    files: found.slice(from, to).map((file) => picked(file, fields)),
    ...(to < found.length && { nextPageToken: String(to) }),
  };
}

/** Reads the terms of Drive's query language that the source uses. */
function queryOf(q: string): { test: (file: DriveFile) => boolean; folderId: string } {
  let folderId = "";
  const text = (quoted: string) => quoted.replace(/\\(.)/g, "$1");
  // A term ends at an "and" outside of quotes.
  const terms = [...q.matchAll(/((?:'(?:[^'\\]|\\.)*'|[^'])+?)(?: and |$)/gy)].map(
    ([, t = ""]) => t,
  );
  const tests = terms.map((term) => {
    const [, parent] = /^'((?:[^'\\]|\\.)*)' in parents$/.exec(term) ?? [];
    const [, field, value] = /^(name|mimeType) = '((?:[^'\\]|\\.)*)'$/.exec(term) ?? [];
    if (parent !== undefined) {
      folderId = text(parent);
      return ({ parents }: DriveFile) => parents.includes(folderId);
    }
    if (term === "trashed = false") return ({ trashed }: DriveFile) => !trashed;
    if (field === "mimeType") return ({ mimeType }: DriveFile) => mimeType === text(value ?? "");
    if (field === "name") {
      const wanted = text(value ?? "").toLowerCase();
      return ({ name }: DriveFile) => name.toLowerCase() === wanted;
    }
    throw new GoogleError(400, `Invalid Value: ${term}`, "invalid");
  });
  return { test: (file) => tests.every((test) => test(file)), folderId };
}

/** Only the fields that were requested. */
function picked(file: DriveFile, fields: string | null): object {
  const sha256Checksum = file.content && createHash("sha256").update(file.content).digest("hex");
  const names = (fields ?? "").split(",");
  const webViewLink = linkOf(file);
  return Object.fromEntries(
    Object.entries({ ...file, sha256Checksum, webViewLink }).filter(([name]) =>
      names.includes(name),
    ),
  );
}

/** A workbook is opened by the editor of Google Sheets, too. */
function linkOf({ id, mimeType }: DriveFile): string {
  const editor = `https://docs.google.com/spreadsheets/d/${id}/edit?usp=drivesdk`;
  if (mimeType === spreadsheetType) return editor;
  if (mimeType === workbookType) return `${editor}&rtpof=true&sd=true`;
  return `https://drive.google.com/file/d/${id}/view?usp=drivesdk`;
}
