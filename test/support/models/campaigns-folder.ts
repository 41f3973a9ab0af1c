/** A folder of sheets in memory, as the source of campaigns. */
import { newFilesPageSize, noSuchFile } from "../../../src/bulk-grants/sources/files.ts";
import type { Source } from "../../../src/bulk-grants/sources/source.ts";
import { otherVersion, versionOfText } from "../../../src/platform/objects/paths.ts";

export interface FolderFile {
  readonly path: string;
  readonly text: string;
  readonly version: string;
}

/** What a test sees of a folder, and how it changes it. */
export interface Folder {
  readonly source: Source;
  /** The new files. */
  readonly files: readonly FolderFile[];
  /** Puts a file in place of any other one of this path, and returns that. */
  drop(path: string, text: string): FolderFile | undefined;
  /** Until then no file can be moved. */
  lockedUntil: number;
}

/** Told before a file is opened, and after it was moved. */
interface Observer {
  opened(file: FolderFile): void;
  moved(file: FolderFile, to: "done" | "failed"): void;
}

/** A listing may be so old. */
const lagMs = 2_000;

/** A folder whose requests take a moment, before and after they take effect. */
export function createFolder(observer: Observer, hop: () => Promise<void>): Folder {
  const files = new Map<string, FolderFile>();
  const leaving: { readonly file: FolderFile; readonly at: number }[] = [];

  const source: Source = {
    async open({ path, version }) {
      await hop();
      const file = files.get(path);
      if (!file) throw noSuchFile(path);
      return { csv: contentOf(file, version) };
    },
    async listNew() {
      await hop();
      // A file may still be listed for moments after it was moved.
      const gone = leaving.filter(
        ({ at, file }) => at + lagMs > Date.now() && !files.has(file.path),
      );
      const listed = [...files.values(), ...gone.map(({ file }) => file)];
      const items = listed
        .slice(0, newFilesPageSize)
        .map(({ path, version }) => ({ path, version }));
      await hop();
      return { items };
    },
    async move({ path, version }, to) {
      await hop();
      if (folder.lockedUntil > Date.now()) throw new Error("the file is locked");
      const file = files.get(path);
      if (!file || (version !== undefined && file.version !== version)) return undefined;
      files.delete(path);
      leaving.push({ file, at: Date.now() });
      observer.moved(file, to);
      await hop();
      return { name: `${to}/${path}` };
    },
    async writeErrors({ path }) {
      await hop();
      return { name: `failed/${path}.errors.csv` };
    },
  };

  async function* contentOf(file: FolderFile, version: string | undefined) {
    observer.opened(file);
    yield Buffer.from(file.text);
    await hop();
    // As a local folder does, it compares the version at the end of what it has read.
    if (version !== undefined && file.version !== version) throw otherVersion(file.path);
  }

  const folder = {
    source,
    get files() {
      return [...files.values()];
    },
    drop(path: string, text: string) {
      const before = files.get(path);
      files.set(path, { path, text, version: versionOfText(text) });
      return before;
    },
    lockedUntil: 0,
  };
  return folder;
}
