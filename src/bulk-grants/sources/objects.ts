/** A folder or a prefix of a bucket as a source of rows. */
import { basename } from "node:path/posix";
import { createObjectStore } from "../../platform/objects/create-store.ts";
import type { SheetAddress } from "../rules/bulk-grant.ts";
import type { DefinitionOf } from "./definitions.ts";
import { errorsName, isPickedUp, namesIn, newFilesPageSize, noSuchFile } from "./files.ts";
import type { Source, VersionedFile } from "./source.ts";

/** Serves the objects of a place. New ones are the sheets directly in it. */
export function createObjectSource(definition: DefinitionOf<"folder" | "s3">): Source {
  const store = createObjectStore(definition, "source");
  const placeOf = (name: string): SheetAddress => ({ name, url: store.urlOf(name) });
  return {
    async open({ path, version }) {
      const csv = await store.open(path, version);
      if (csv === undefined) throw noSuchFile(path);
      // The folder, because a file that is picked up is in another one by the time of the report.
      const url = store.urlOf(path.slice(0, path.lastIndexOf("/") + 1));
      return { csv, url, encoding: definition.encoding };
    },
    async listNew(cursor) {
      const page = await store.list("", isPickedUp, { size: newFilesPageSize, cursor });
      const items: VersionedFile[] = [];
      for (const { name, version: read } of page.items) {
        const version = await read();
        if (version !== undefined) items.push({ path: name, version });
      }
      return { ...page, items };
    },
    async move(file, to) {
      const target = await store.moveToFree(file, to, namesIn(to, basename(file.path)));
      return target === undefined ? undefined : placeOf(target);
    },
    async writeErrors({ path }, { csv }) {
      const name = `failed/${errorsName(path)}`;
      await store.put(name, { bytes: csv, type: "text/csv; charset=utf-8" });
      return placeOf(name);
    },
  };
}
