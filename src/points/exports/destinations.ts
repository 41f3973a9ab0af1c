/** Implements the port of the destinations, and keeps every path below its destination. */

import { z } from "zod";
import { createObjectStore } from "../../platform/objects/create-store.ts";
import { folder, readDefinitions, s3 } from "../../platform/objects/definitions.ts";
import type { ObjectStore } from "../../platform/objects/object-store.ts";
import { allPages } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { ExportDestinations, ExportFolder } from "../ports/exports.ts";

const definition = z.discriminatedUnion("type", [folder, s3]);

/** One configured destination. */
export type DestinationDefinition = z.output<typeof definition>;

/** Returns the destinations of the file of MEGURI_EXPORT_DESTINATIONS, as readDefinitions does. */
export const readDestinations = (path: string | undefined): readonly DestinationDefinition[] =>
  readDefinitions(path, "destinations", definition);

/**
 * Serves the configured destinations. The folder of an export is `<program>/<export id>`. The ids
 * and the names of files are checked here again, because operators can start runs with any input.
 */
export function createDestinations(
  definitions: readonly DestinationDefinition[],
): ExportDestinations {
  const byName = new Map(
    definitions.map((each) => [
      each.name,
      { ...each, store: createObjectStore(each, "destination") },
    ]),
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
        throw invalid("not the id of an export", "job_id");
      }
      return createExportFolder(destination, found.store, `${programId}/${exportId}`);
    },
  };
}

/** The files of an export: parts, acts, the manifest, what is not finished, and lists of that. */
const ownFiles = [
  /^part-\d{1,3}-\d{6,9}\.jsonl\.gz$/,
  /^acts-\d{6,9}\.jsonl\.gz$/,
  /^manifest\.json$/,
  /^\.[0-9a-f-]{36}\.(unfinished|part)$/,
  /^\.[0-9a-f]{64}\.list$/,
];
const isOwn = (name: string): boolean => ownFiles.some((form) => form.test(name));

/** S3 lists up to 1,000 objects at once. */
const pageSize = 1_000;

/** Reads and writes no other files than those of an export, so that foreign ones stay. */
function createExportFolder(destination: string, store: ObjectStore, folder: string): ExportFolder {
  const own = (name: string): string => {
    if (!isOwn(name)) throw invalid("not the name of a file of an export", "name");
    return `${folder}/${name}`;
  };
  const orFailure = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof DomainError ? error : failureOf(destination, error as Error);
    }
  };
  return {
    read: (name) => orFailure(() => store.read(own(name))),
    write: (name, bytes) => {
      const type = name.endsWith(".json") ? "application/json" : "application/gzip";
      return orFailure(() => store.put(own(name), { bytes, type }));
    },
    rename: (from, to) => orFailure(() => store.rename(own(from), own(to))),
    sizes: () =>
      orFailure(async () => {
        const sizes = new Map<string, number>();
        for await (const files of allPages(pageSize, (page) => store.list(folder, isOwn, page))) {
          for (const { name, size } of files) sizes.set(name, size);
        }
        return sizes;
      }),
    remove: (name) => orFailure(() => store.remove(own(name))),
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
