/** Implements the port of the destinations, and keeps every path below its destination. */

import { DomainError } from "../../platform/words/errors.ts";
import type { ExportDestinations, ExportFolder } from "../ports/exports.ts";
import type { DestinationDefinition } from "./definitions.ts";
import { createFolder } from "./folder.ts";
import { createPrefix } from "./s3.ts";

/** Makes the folder of an export, by its path in the destination. */
type FolderAt = (path: string) => ExportFolder;

/**
 * Serves the configured destinations. The folder of an export is `<program>/<export id>`. The ids
 * and the names of files are checked here again, because operators can start runs with any input.
 */
export function createDestinations(
  definitions: readonly DestinationDefinition[],
): ExportDestinations {
  const byName = new Map(
    definitions.map((each) => [each.name, { ...each, folderAt: folderOf(each) }]),
  );
  return {
    folder(destination, { programId, exportId }) {
      const found = byName.get(destination);
      if (!found) {
        const message = `no destination ${JSON.stringify(destination)} is configured`;
        throw invalid(message, "destination");
      }
      if (!found.programs.includes(programId)) {
        const message = `the destination ${destination} is not for the program ${programId}`;
        throw new DomainError("PERMISSION_DENIED", message, { destination });
      }
      if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(exportId)) {
        throw invalid("not the id of an export", "export_id");
      }
      return withOwnFiles(destination, found.folderAt(`${programId}/${exportId}`));
    },
  };
}

function folderOf(definition: DestinationDefinition): FolderAt {
  switch (definition.type) {
    case "folder":
      return (path) => createFolder(definition, path);
    case "s3":
      return createPrefix(definition);
  }
}

/** The files of an export: its parts, its manifest, and what is not finished. */
const ownFile =
  /^(part-\d{1,3}-\d{6,9}\.jsonl\.gz|manifest\.json|\.[0-9a-f-]{36}\.(unfinished|part))$/;

/** Reads and writes no other files than those of an export, so that foreign ones stay. */
function withOwnFiles(destination: string, folder: ExportFolder): ExportFolder {
  const own = (name: string): string => {
    if (!ownFile.test(name)) throw invalid("not the name of a file of an export", "name");
    return name;
  };
  const orFailure = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof DomainError ? error : failureOf(destination, error as Error);
    }
  };
  return {
    read: (name) => orFailure(() => folder.read(own(name))),
    write: (name, content) => orFailure(() => folder.write(own(name), content)),
    rename: (from, to) => orFailure(() => folder.rename(own(from), own(to))),
    sizes: () =>
      orFailure(async () => {
        const sizes = await folder.sizes();
        return new Map([...sizes].filter(([name]) => ownFile.test(name)));
      }),
    remove: (name) => orFailure(() => folder.remove(own(name))),
  };
}

/** Names what has failed by its code, such as ENOSPC or AccessDenied; a log has the cause. */
function failureOf(destination: string, cause: Error): DomainError {
  const code = (cause as NodeJS.ErrnoException).code ?? cause.name;
  const message = `the destination ${destination} failed: ${code}`;
  return Object.assign(new DomainError("DESTINATION_UNAVAILABLE", message), { cause });
}

const invalid = (message: string, field: string): DomainError =>
  new DomainError("INVALID_REQUEST", message, { field });
