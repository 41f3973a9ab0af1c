/** A local folder as a destination of exports. */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "../../platform/words/errors.ts";
import type { ExportFolder } from "../ports/exports.ts";
import type { DefinitionOf } from "./definitions.ts";

/** Serves a path below the folder, which is made when something is written there. */
export function createFolder(
  { path: root }: Pick<DefinitionOf<"folder">, "path">,
  path: string,
): ExportFolder {
  const at = async (name: string): Promise<string> => {
    let folder = await realpath(root);
    for (const part of path.split("/")) {
      folder = join(folder, part);
      await mkdir(folder, { recursive: true });
      if ((await realpath(folder)) !== folder) {
        throw new DomainError("INVALID_REQUEST", "a link leads out of the folder of the export", {
          field: "destination",
        });
      }
    }
    return join(folder, name);
  };
  return {
    async read(name) {
      const file = await at(name);
      const found = await ifExists(lstat(file));
      // A link leads elsewhere, and reading a pipe may never end.
      if (found && !found.isFile()) throw new DomainError("WRONG_STATE", `${name} is no file`);
      return found && ifExists(readFile(file));
    },
    async write(name, content) {
      const unfinished = await at(`.${randomUUID()}.part`);
      try {
        await writeFile(unfinished, content, { flag: "wx", flush: true });
        await rename(unfinished, await at(name));
      } finally {
        await rm(unfinished, { force: true });
      }
    },
    async rename(from, to) {
      const renamed = rename(await at(from), await at(to)).then(() => true);
      return (await ifExists(renamed)) ?? false;
    },
    async sizes() {
      const folder = await at("");
      const sizes = new Map<string, number>();
      for (const name of await readdir(folder)) {
        const found = await ifExists(lstat(join(folder, name)));
        if (found) sizes.set(name, found.size);
      }
      return sizes;
    },
    remove: async (name) => rm(await at(name), { force: true }),
  };
}

async function ifExists<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
