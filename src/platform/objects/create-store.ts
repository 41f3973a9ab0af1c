/** Makes the object store of a definition. */
import type { LocationOf } from "./definitions.ts";
import { createFolderStore } from "./folder.ts";
import type { ObjectStore } from "./object-store.ts";
import { createS3Store } from "./s3.ts";

/** `kind` says what the place is to its users, in messages and as the field of details. */
export function createObjectStore(
  definition: LocationOf<"folder" | "s3">,
  kind: "source" | "destination",
): ObjectStore {
  return definition.type === "folder"
    ? createFolderStore(definition.path, kind)
    : createS3Store(definition);
}
