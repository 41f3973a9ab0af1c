/** Implements the port of the sources, over the sources of each kind. */

import { versionOfText } from "../../platform/objects/paths.ts";
import { cutToBytes, maxTitleBytes, toDisplayText } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { parseSource } from "../../platform/words/source-string.ts";
import type { BulkSources } from "../ports/bulk-grants.ts";
import { isBulkGrantId, maxBulkGrantIdBytes } from "../rules/bulk-grant-id.ts";
import type { DefinitionOf, SourceDefinition } from "./definitions.ts";
import { withoutEnd } from "./files.ts";
import type { Source, SourceFile, VersionedFile } from "./source.ts";

/** Makes a source from its definition, for each type. */
type SourceAdapters = {
  readonly [T in SourceDefinition["type"]]: (definition: DefinitionOf<T>) => Source;
};

interface ConfiguredSource {
  readonly definition: SourceDefinition;
  readonly source: Source;
}

/**
 * Serves the configured sources. A source string is `<name>/<path>`. One of a new file ends with
 * `#` and the version of its content, so that what is read and moved is what was listed.
 */
export function createBulkSources(
  definitions: readonly SourceDefinition[],
  adapters: SourceAdapters,
): BulkSources {
  const byName = new Map<string, ConfiguredSource>(
    definitions.map((definition) => [
      definition.name,
      // The type is that of the adapter, but TypeScript does not relate the two.
      { definition, source: adapters[definition.type](definition as never) },
    ]),
  );
  const named = (name: string): ConfiguredSource => {
    const found = byName.get(name);
    if (!found) throw unknownSource(name);
    return found;
  };
  return {
    async open(source, programId) {
      const { name, file } = parse(source);
      const { definition, source: opened } = named(name);
      if (!definition.programs.includes(programId)) {
        throw new DomainError(
          "PERMISSION_DENIED",
          `the source ${name} may not grant in the program ${programId}`,
          { source: name },
        );
      }
      return { identity: definition.identity, ...(await opened.open(file)) };
    },
    async listNew(sourceName, cursor) {
      const { source, definition } = named(sourceName);
      let page = await source.listNew(cursor);
      while (page.items.length === 0 && page.cursor !== undefined) {
        page = await source.listNew(page.cursor);
      }
      const items = page.items.map((file) => ({
        source: `${sourceName}/${file.path}#${file.version}`,
        bulkGrantId: bulkGrantIdOf(file, definition.pick_up?.ids === "content"),
        title: titleOf(file),
      }));
      return { ...page, items };
    },
    async move(source, to) {
      const { name, file } = parse(source);
      const place = await named(name).source.move(file, to);
      return place && { ...place, name: `${name}/${place.name}` };
    },
    async writeErrors({ source, url }, errors) {
      const { name, file } = parse(source);
      const place = await named(name).source.writeErrors({ ...file, url }, errors);
      return { ...place, name: `${name}/${place.name}` };
    },
  };
}

function parse(source: string): { readonly name: string; readonly file: SourceFile } {
  const parsed = parseSource(source);
  if (!parsed) throw unknownSource(source);
  const { name, ...file } = parsed;
  return { name, file };
}

/** The title of a new file, which is in no folder: its name, in which Drive has slashes. */
const titleOf = ({ path }: VersionedFile): string =>
  toDisplayText(withoutEnd(path), maxTitleBytes) || "sheet";

/** Cut to this many bytes, a name with a hash is short enough for an id. */
const maxNameBytes = maxBulkGrantIdBytes - "-0123456789ab".length;

/** What no id has, and slashes, which some read as a path. */
const notAllowed = /[#/\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/** What an id does not have at its ends, and hyphens. */
const unseenEnds = /^[-\p{Z}\p{Cf}\u2800\u3164\uffa0]+|[-\p{Z}\p{Cf}\u2800\u3164\uffa0]+$/gu;

/**
 * Makes the bulk_grant_id of a file from its name, for people; with `isByContent` from its name and
 * its content. Some systems keep names in another form of Unicode than NFC, which looks the same. A
 * name that is no id gets a hash, because several names may have the same allowed characters.
 */
function bulkGrantIdOf({ path, version }: VersionedFile, isByContent: boolean): string {
  const name = withoutEnd(path).normalize("NFC");
  const id = isByContent ? `${name}-${version}` : name;
  if (isBulkGrantId(id) && !id.includes("/")) return id;
  const allowed = cutToBytes(name.replace(notAllowed, "-"), maxNameBytes);
  const readable = allowed.replace(unseenEnds, "") || "sheet";
  return `${readable}-${versionOfText(isByContent ? `${version} ${path}` : name)}`;
}

const unknownSource = (name: string) =>
  new DomainError("INVALID_REQUEST", `no source ${JSON.stringify(name)} is configured`, {
    field: "source",
  });
