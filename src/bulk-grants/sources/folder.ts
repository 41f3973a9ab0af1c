/** A local folder as a source of rows. */
import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import {
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { DomainError } from "../../platform/words/errors.ts";
import type { SheetPlace } from "../rules/bulk-grant.ts";
import type { DefinitionOf } from "./definitions.ts";
import {
  errorsName,
  type Folder,
  isPickedUp,
  isPlainPath,
  namesIn,
  newFilesPageSize,
  noSuchFile,
  otherVersion,
  versionOf,
  versionOfText,
} from "./files.ts";
import type { Source, VersionedFile } from "./source.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * A file changed less than this many ms ago may still be written, so the next pick-up takes it. A
 * program that writes for longer gives the file a name without `.csv` until it is complete.
 */
const quietMs = 5_000;

/** Serves the files below a folder. New ones are the `*.csv` files directly in it. */
export function createFolderSource({ path: root }: Pick<DefinitionOf<"folder">, "path">): Source {
  return {
    async open({ path, version }) {
      const found = await find(root, path);
      if (found === undefined) throw noSuchFile(path);
      return { csv: contentOf(found, path, version) };
    },
    async listNew(cursor = "") {
      const entries = await readdir(root, { withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && isPickedUp(entry.name));
      const names = files.map(({ name }) => name).filter((name) => name > cursor);
      const page = names.sort((a, b) => (a < b ? -1 : 1)).slice(0, newFilesPageSize);
      const items: VersionedFile[] = [];
      for (const name of page) {
        const version = await quietVersion(join(root, name));
        if (version !== undefined) items.push({ path: name, version });
      }
      const last = page.at(-1);
      return { items, ...(last !== undefined && names.length > page.length && { cursor: last }) };
    },
    async move({ path, version }, to) {
      const from = await find(root, path);
      if (from === undefined) return undefined;
      if (version !== undefined && (await ifExists(hash(from))) !== version) return undefined;
      return inFolder(root, to, (folder) => renameInto(folder, to, from));
    },
    async writeErrors({ path }, { csv }) {
      return inFolder(root, "failed", async (folder) => {
        const name = errorsName(path);
        await replaceFile(folder, name, csv);
        return { name: `failed/${name}` };
      });
    },
  };
}

/**
 * Returns the file of a path; undefined when there is none. Resolves symbolic links first, so that
 * neither they nor `..` lead out of the root.
 */
async function find(root: string, path: string): Promise<string | undefined> {
  const base = await realpath(root);
  if (!isPlainPath(path)) return undefined;
  const found = await ifExists(realpath(join(base, path)));
  if (!found?.startsWith(base.endsWith(sep) ? base : base + sep)) return undefined;
  // A pipe or a device is no file, because reading it may never end.
  return (await ifExists(stat(found)))?.isFile() ? found : undefined;
}

/** Reads a file, and compares its version at the end: reading it twice would leave a gap. */
async function* contentOf(
  file: string,
  path: string,
  version: string | undefined,
): AsyncGenerator<Uint8Array> {
  const sha256 = createHash("sha256");
  try {
    for await (const chunk of createReadStream(file)) {
      sha256.update(chunk);
      yield chunk;
    }
  } catch (error) {
    throw isForbidden(error) ? notReadable(path) : error;
  }
  if (version !== undefined && versionOf(sha256.digest()) !== version) throw otherVersion(path);
}

/**
 * Calls `use` with the path of a folder in the root, which is made when it is missing. Throws
 * INVALID_REQUEST when a link or a file has its name. On Linux the path is that of the open folder,
 * so that a link that replaces the folder meanwhile leads nowhere else.
 */
async function inFolder<T>(
  root: string,
  name: Folder,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = join(await realpath(root), name);
  await mkdir(folder).catch(unless("EEXIST"));
  const opened = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(
    unless("ELOOP", "ENOTDIR"),
  );
  if (opened === undefined) {
    const what = (await lstat(folder)).isSymbolicLink() ? "link" : "file";
    throw new DomainError("INVALID_REQUEST", `the folder ${name} of the source is a ${what}`, {
      field: "source",
    });
  }
  try {
    return await use(process.platform === "linux" ? `/proc/self/fd/${opened.fd}` : folder);
  } finally {
    await opened.close();
  }
}

/** Writes a file under another name first, so that it is there whole or not at all. */
async function replaceFile(
  folder: string,
  name: string,
  content: AsyncIterable<string>,
): Promise<void> {
  const unfinished = join(folder, `.${randomUUID()}.part`);
  try {
    await writeFile(unfinished, content, { flag: "wx" });
    await rename(unfinished, join(folder, name));
  } finally {
    await rm(unfinished, { force: true });
  }
}

/**
 * Returns the version of a file that is complete; undefined when it may change, or is gone. A file
 * that cannot be read is listed, too: reading it fails again, and only this file is left.
 */
async function quietVersion(file: string): Promise<string | undefined> {
  const found = await ifExists(stat(file));
  if (found === undefined || Date.now() - found.mtimeMs < quietMs) return undefined;
  return ifExists(hash(file)).catch(() => versionOfText(`unreadable since ${found.mtimeMs}`));
}

async function hash(file: string): Promise<string> {
  const sha256 = createHash("sha256");
  for await (const chunk of createReadStream(file)) sha256.update(chunk);
  return versionOf(sha256.digest());
}

/**
 * Renames a file into an open folder, and returns where it is then. An empty file reserves the name
 * first, because a rename would replace another file without an error. Does nothing when the file
 * has been moved meanwhile.
 */
async function renameInto(
  folder: string,
  to: Folder,
  from: string,
): Promise<SheetPlace | undefined> {
  for (const names = namesIn(to, basename(from)); ; ) {
    const name = names.next().value;
    const target = join(folder, name);
    if (!(await reserve(target))) continue;
    try {
      await rename(from, target);
      return { name: `${to}/${name}` };
    } catch (error) {
      await rm(target);
      if (!isMissing(error)) throw error;
      return undefined;
    }
  }
}

/** Makes an empty file; returns false when the name is taken. */
async function reserve(target: string): Promise<boolean> {
  const made = await open(target, "wx").catch(unless("EEXIST"));
  await made?.close();
  return made !== undefined;
}

/** Undefined for an error with one of these codes. */
const unless =
  (...codes: readonly string[]) =>
  (error: NodeJS.ErrnoException): undefined => {
    if (!codes.includes(error.code ?? "")) throw error;
  };

/** Undefined when no file has this path, any longer or at all. */
async function ifExists<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The codes of paths that can name no file; ELOOP is a link to itself. */
const missing: readonly unknown[] = ["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP"];

const isMissing = (error: unknown): boolean => missing.includes(codeOf(error));

/** Whether the file is there, but not for the user of this process. */
const isForbidden = (error: unknown): boolean => ["EACCES", "EPERM"].includes(codeOf(error) ?? "");

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const notReadable = (path: string): DomainError =>
  new DomainError("PERMISSION_DENIED", `Meguri may not read the file ${JSON.stringify(path)}`);
