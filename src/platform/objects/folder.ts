/** A local folder as an object store. */
import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import {
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { DomainError } from "../words/errors.ts";
import type { ObjectStore } from "./object-store.ts";
import { checkVersion, isPlainPath, versionOf, versionOfText } from "./paths.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * A file changed less than this many ms ago may still be written, so it has no version yet. A
 * program that writes for longer gives the file another name until it is complete.
 */
const quietMs = 5_000;

/**
 * Serves the files below a folder, whose own folders are made when something is written there.
 * `kind` says what the folder is to its users, in messages and as the field of details.
 */
export function createFolderStore(root: string, kind: string): ObjectStore {
  const inFolderOf = async <T>(path: string, use: (file: string) => Promise<T>): Promise<T> =>
    inFolder(await realpath(root), dirname(path), kind, (folder) =>
      use(join(folder, basename(path))),
    );
  return {
    async open(path, version) {
      const file = await findFile(root, path);
      return file === undefined ? undefined : checkVersion(contentOf(file, path), path, version);
    },
    async read(path) {
      const file = await findFile(root, path);
      if (file !== undefined) return ifExists(readFile(file));
      // A link leads elsewhere, and reading a pipe may never end.
      if ((await ifExists(lstat(join(root, path)))) === undefined) return undefined;
      throw new DomainError("WRONG_STATE", `${basename(path)} is no file`);
    },
    async list(folder, isWanted, { size, cursor = "" }) {
      const path = folder === "" ? root : await find(root, folder);
      if (path === undefined) return { items: [] };
      const entries = await readdir(path, { withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && isWanted(entry.name));
      const names = files.map(({ name }) => name).filter((name) => name > cursor);
      const page = names.sort((a, b) => (a < b ? -1 : 1)).slice(0, size);
      const listed = await Promise.all(page.map((name) => listedFile(path, name)));
      const last = page.at(-1);
      return {
        items: listed.filter((each) => each !== undefined),
        cursor: names.length > page.length ? last : undefined,
      };
    },
    put: (path, { bytes }) => inFolderOf(path, (file) => replaceFile(file, bytes)),
    async rename(from, to) {
      const file = await findFile(root, from);
      if (file === undefined) return false;
      const renamed = inFolderOf(to, (target) => rename(file, target).then(() => true));
      return (await ifExists(renamed)) ?? false;
    },
    async moveToFree({ path, version }, folder, names) {
      const file = await findFile(root, path);
      if (file === undefined) return undefined;
      if (version !== undefined && (await ifExists(hash(file))) !== version) return undefined;
      return inFolder(await realpath(root), folder, kind, async (opened) => {
        const name = await renameToFree(file, opened, names);
        return name && `${folder}/${name}`;
      });
    },
    remove: (path) => inFolderOf(path, (file) => rm(file, { force: true })),
    urlOf: () => undefined,
  };
}

/**
 * Returns what has a path; undefined when there is nothing. Resolves symbolic links first, so that
 * neither they nor `..` lead out of the root.
 */
async function find(root: string, path: string): Promise<string | undefined> {
  const base = await realpath(root);
  if (!isPlainPath(path)) return undefined;
  const found = await ifExists(realpath(join(base, path)));
  return found?.startsWith(base.endsWith(sep) ? base : base + sep) ? found : undefined;
}

/** Returns the file of a path. A pipe or a device is no file, because reading it may never end. */
async function findFile(root: string, path: string): Promise<string | undefined> {
  const found = await find(root, path);
  return found && (await ifExists(stat(found)))?.isFile() ? found : undefined;
}

async function* contentOf(file: string, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file);
  } catch (error) {
    throw isForbidden(error) ? notReadable(path) : error;
  }
}

/**
 * Calls `use` with the path of a folder below another one; both are made when they are missing.
 * Throws INVALID_REQUEST when a link or a file has the name of one. On Linux the path is that of
 * the open folder, so that a link that replaces the folder meanwhile leads nowhere else.
 */
async function inFolder<T>(
  parent: string,
  path: string,
  kind: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  if (path === ".") return use(parent);
  const [name = "", ...below] = path.split("/");
  const folder = join(parent, name);
  await mkdir(folder).catch(unless("EEXIST"));
  const opened = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(
    unless("ELOOP", "ENOTDIR"),
  );
  if (opened === undefined) {
    const what = (await lstat(folder)).isSymbolicLink() ? "link" : "file";
    throw new DomainError("INVALID_REQUEST", `the folder ${name} of the ${kind} is a ${what}`, {
      field: kind,
    });
  }
  try {
    const at = process.platform === "linux" ? `/proc/self/fd/${opened.fd}` : folder;
    return await inFolder(at, below.join("/") || ".", kind, use);
  } finally {
    await opened.close();
  }
}

/** Writes a file under another name first, so that it is there whole or not at all. */
async function replaceFile(
  file: string,
  content: Uint8Array | AsyncIterable<string>,
): Promise<void> {
  const unfinished = join(dirname(file), `.${randomUUID()}.part`);
  try {
    await writeFile(unfinished, content, { flag: "wx", flush: true });
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function listedFile(folder: string, name: string) {
  const file = join(folder, name);
  const found = await ifExists(lstat(file));
  return found && { name, size: found.size, version: () => quietVersion(file) };
}

/**
 * Returns the version of a file that is complete; undefined when it may change, or is gone. A file
 * that cannot be read has one, too: reading it fails again, and only this file is left.
 */
async function quietVersion(file: string): Promise<string | undefined> {
  const found = await ifExists(stat(file));
  if (found === undefined || Date.now() - found.mtimeMs < quietMs) return undefined;
  return ifExists(hash(file)).catch(() => versionOfText(`unreadable since ${found.mtimeMs}`));
}

async function hash(file: string): Promise<string> {
  const sha256 = createHash("sha256");
  for await (const chunk of createReadStream(file)) sha256.update(chunk);
  return versionOf(sha256.digest("hex"));
}

/**
 * Renames a file into an open folder, and returns its name there. An empty file reserves the name
 * first, because a rename would replace another file without an error. Does nothing when the file
 * has been moved meanwhile.
 */
async function renameToFree(
  file: string,
  folder: string,
  names: Iterable<string>,
): Promise<string | undefined> {
  for (const name of names) {
    const target = join(folder, name);
    if (!(await reserve(target))) continue;
    try {
      await rename(file, target);
      return name;
    } catch (error) {
      await rm(target);
      if (!isMissing(error)) throw error;
      return undefined;
    }
  }
  return undefined;
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
