/** The ports of exports with one destination, `audit`, in memory. */
import type { Deps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { ExportedActs, ExportFolder } from "../../../src/points/ports/exports.ts";
import { exportFormat } from "../../../src/points/rpc/export-format.ts";

export function exportPorts(): Pick<Deps, "exportDestinations" | "exportFormat"> {
  const folders = new Map<string, ExportFolder>();
  return {
    exportFormat,
    exportDestinations: {
      folder(destination, { programId, exportId }) {
        if (destination !== "audit") {
          throw new DomainError("INVALID_REQUEST", `there is no destination ${destination}`);
        }
        const path = `${programId}/${exportId}`;
        const folder = folders.get(path) ?? createMemoryFolder();
        folders.set(path, folder);
        return folder;
      },
    },
  };
}

/** What a manifest says of acts where there are none. */
export const noActs: ExportedActs = { parts: [], unreadable: 0, unreadables: [] };

/** The names of all files of an export. */
export const namesIn = async (folder: ExportFolder): Promise<string[]> => [
  ...(await folder.sizes()).keys(),
];

export function createMemoryFolder(): ExportFolder {
  const files = new Map<string, Uint8Array>();
  return {
    read: async (name) => files.get(name),
    write: async (name, content) => void files.set(name, content),
    async rename(from, to) {
      const content = files.get(from);
      if (content) files.set(to, content);
      return files.delete(from);
    },
    sizes: async () => new Map([...files].map(([name, { length }]) => [name, length])),
    remove: async (name) => void files.delete(name),
  };
}
