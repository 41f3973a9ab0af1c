/** The files of an export: begins them, gives the parts their names, and completes them. */

import { DomainError } from "../../../platform/words/errors.ts";
import type { ExportedEntries, ExportRequest } from "../../contract/exports.ts";
import type { Deps } from "../../ports/deps.ts";
import type {
  ExportedPart,
  ExportFolder,
  ExportFormat,
  ExportManifest,
  ExportName,
  ExportWindow,
} from "../../ports/exports.ts";
import type { Job } from "../../rules/jobs.ts";

export type ExportJob = Job<ExportedEntries, ExportRequest>;

/** A file of a step: the name is one of this step alone. */
export interface ExportedFile extends ExportedPart {
  readonly segment: number;
}

type FileDeps = Pick<Deps, "exportDestinations" | "exportFormat">;

/** The file that is written last, which lists the parts. */
const manifestName = "manifest.json";

const nameOf = ({ programId, jobId: exportId }: ExportJob): ExportName => ({ programId, exportId });

export const windowOf = ({ request: { start, end } }: ExportJob): ExportWindow => ({ start, end });

/** The folder of an export. Throws the refusals of its destination. */
export const folderOf = (
  { exportDestinations }: Pick<Deps, "exportDestinations">,
  job: ExportJob,
): ExportFolder => exportDestinations.folder(job.request.destination, nameOf(job));

/**
 * Returns the counts of an export that is complete already. Otherwise deletes what a run that has
 * ended early has left in the folder. Refusals: those of the destination, ID_REUSED when the
 * manifest is that of other instants, and WRONG_STATE when it is not one of this export, or when a
 * part is not there as it says.
 */
export async function openExport(
  deps: FileDeps,
  job: ExportJob,
): Promise<ExportedEntries | undefined> {
  const folder = folderOf(deps, job);
  const found = await folder.read(manifestName);
  if (found === undefined) {
    for (const name of (await folder.sizes()).keys()) await folder.remove(name);
    return undefined;
  }
  const { entries, parts, unreadable, unreadables, window, ...name } = readManifest(
    deps.exportFormat,
    found,
  );
  const { programId, exportId } = nameOf(job);
  if (name.programId !== programId || name.exportId !== exportId) throw notOurs();
  const { start, end } = windowOf(job);
  if (window.start !== start || window.end !== end) {
    throw new DomainError("ID_REUSED", "manifest.json is that of an export with other times");
  }
  const sizes = await folder.sizes();
  const damaged = parts.find(({ name, bytes }) => sizes.get(name) !== bytes);
  if (damaged) {
    throw wrong(
      `the export is complete, but ${damaged.name} was changed or deleted since; ` +
        "delete manifest.json and start the export again",
    );
  }
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return { entries, parts: parts.length, bytes, unreadable, unreadables };
}

function readManifest(exportFormat: ExportFormat, content: Uint8Array): ExportManifest {
  try {
    return exportFormat.readManifest(Buffer.from(content).toString());
  } catch {
    // A file that cannot be read is somebody else's, and its text is kept out of the history.
    throw notOurs();
  }
}

/**
 * Gives the files of the steps the names of parts, in the order in which each segment was read,
 * deletes all other files, and writes the manifest. May be repeated. Refuses to replace a part of a
 * complete export, as a run would that was reset or started twice.
 */
export async function finishExport(
  deps: FileDeps,
  job: ExportJob,
  { entries, unreadable, unreadables }: ExportedEntries,
  files: readonly ExportedFile[],
): Promise<void> {
  const folder = folderOf(deps, job);
  const parts = files
    .toSorted((a, b) => a.segment - b.segment)
    .map(({ segment, ...file }, i, sorted) => {
      const number = i + 1 - sorted.findIndex((each) => each.segment === segment);
      return { ...file, written: file.name, name: partName(segment, number) };
    });
  const manifest = `${deps.exportFormat.manifest({
    ...nameOf(job),
    window: windowOf(job),
    entries,
    unreadable,
    unreadables,
    parts: parts.map(({ written: _, ...part }) => part),
  })}\n`;
  const complete = await folder.read(manifestName);
  if (complete !== undefined && Buffer.from(complete).toString() !== manifest) {
    throw wrong("the export is complete already; delete manifest.json to export again");
  }
  const left = new Map(await folder.sizes());
  left.delete(manifestName);
  for (const { name, written, bytes } of parts) {
    const isRenamed = left.get(written) === bytes && (await folder.rename(written, name));
    // Another attempt may have renamed it, before this one or beside it.
    const isThere = async () =>
      left.get(name) === bytes || (await folder.sizes()).get(name) === bytes;
    if (!isRenamed && !(await isThere())) {
      throw wrong(`the file ${name} was changed or deleted; start the export again`);
    }
    left.delete(name);
    left.delete(written);
  }
  for (const name of left.keys()) await folder.remove(name);
  await folder.write(manifestName, Buffer.from(manifest));
}

/** The name of a part, by its segment and its number there, from 1. */
const partName = (segment: number, number: number): string =>
  `part-${segment}-${String(number).padStart(6, "0")}.jsonl.gz`;

const wrong = (message: string): DomainError => new DomainError("WRONG_STATE", message);

const notOurs = (): DomainError =>
  wrong(
    "manifest.json in the folder is not one of this export, and nothing was overwritten; move it " +
      "away and start the export again, or take another id",
  );
