/** A local folder as a source of rows. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { DomainError } from "../../domain/errors.ts";
import type { DefinitionOf } from "./definitions.ts";
import {
  isPickedUp,
  isPlainPath,
  newFilesPageSize,
  noSuchFile,
  otherName,
  otherVersion,
  versionOf,
} from "./files.ts";
import type { Source, VersionedFile } from "./source.ts";

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
      return contentOf(found, path, version);
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
      if (from === undefined) return;
      if (version !== undefined && (await ifExists(hash(from))) !== version) return;
      await renameInto(await makeFolder(root, to), from);
    },
    urlOf: () => undefined,
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
  for await (const chunk of createReadStream(file)) {
    sha256.update(chunk);
    yield chunk;
  }
  if (version !== undefined && versionOf(sha256.digest()) !== version) throw otherVersion(path);
}

/** Makes a folder in the root. Throws INVALID_REQUEST when a link leads elsewhere. */
async function makeFolder(root: string, name: string): Promise<string> {
  const folder = join(await realpath(root), name);
  await mkdir(folder, { recursive: true });
  if ((await realpath(folder)) === folder) return folder;
  throw new DomainError("INVALID_REQUEST", `the folder ${name} of the source is a link`, {
    field: "source",
  });
}

/** Returns the version of a file that is complete; undefined when it may change, or is gone. */
async function quietVersion(file: string): Promise<string | undefined> {
  const found = await ifExists(stat(file));
  if (found === undefined || Date.now() - found.mtimeMs < quietMs) return undefined;
  return ifExists(hash(file));
}

async function hash(file: string): Promise<string> {
  const sha256 = createHash("sha256");
  for await (const chunk of createReadStream(file)) sha256.update(chunk);
  return versionOf(sha256.digest());
}

/**
 * Renames a file into a folder. An empty file reserves the name first, because a rename would
 * replace another file without an error. Does nothing when the file has been moved meanwhile.
 */
async function renameInto(folder: string, from: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const name = basename(from);
    const target = join(folder, attempt === 1 ? name : otherName(name, attempt));
    if (!(await reserve(target))) continue;
    try {
      await rename(from, target);
    } catch (error) {
      await unlink(target);
      if (!isMissing(error)) throw error;
    }
    return;
  }
}

/** Makes an empty file; returns false when the name is taken. */
async function reserve(target: string): Promise<boolean> {
  try {
    await (await open(target, "wx")).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

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

const isMissing = (error: unknown): boolean =>
  missing.includes((error as NodeJS.ErrnoException).code);
