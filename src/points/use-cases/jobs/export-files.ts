/** The files of an export: begins them, gives the parts their names, and completes them. */

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { inBatches } from "../../../platform/ports/pages.ts";
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
import type { JobFiles } from "./jobs.ts";

export type ExportJob = Job<ExportedEntries, ExportRequest>;

/** A file of a step: the name is one of this step alone. */
export interface ExportedFile extends ExportedPart {
  readonly segment: number;
}

type FileDeps = Pick<Deps, "exportDestinations" | "exportFormat">;

/** The file that lists the parts. It is written when they have their names. */
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
  const complete = await completeExport(deps, job);
  const folder = folderOf(deps, job);
  if (!complete) for (const name of (await folder.sizes()).keys()) await folder.remove(name);
  return complete;
}

/** Returns the counts of an export that is complete. Refusals: as openExport. */
async function completeExport(
  deps: FileDeps,
  job: ExportJob,
): Promise<ExportedEntries | undefined> {
  const manifest = await manifestOf(deps, job);
  if (manifest === undefined) return undefined;
  const { entries, parts, acts, unreadable, unreadables, window } = manifest;
  const { start, end } = windowOf(job);
  if (window.start !== start || window.end !== end) {
    throw new DomainError("ID_REUSED", "manifest.json is that of an export with other times");
  }
  const sizes = await folderOf(deps, job).sizes();
  const damaged = [...parts, ...acts.parts].find(({ name, bytes }) => sizes.get(name) !== bytes);
  if (damaged) {
    throw wrong(
      `the export is complete, but ${damaged.name} was changed or deleted since; ` +
        "delete manifest.json and start the export again",
    );
  }
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return { entries, parts: parts.length, bytes, unreadable, unreadables };
}

/**
 * The manifest in the folder of an export; undefined without one. Refusal: WRONG_STATE when it is
 * not one of this export.
 */
export async function manifestOf(
  deps: FileDeps,
  job: ExportJob,
): Promise<ExportManifest | undefined> {
  const found = await folderOf(deps, job).read(manifestName);
  if (found === undefined) return undefined;
  const manifest = readManifest(deps.exportFormat, found);
  const { programId, exportId } = nameOf(job);
  if (manifest.programId !== programId || manifest.exportId !== exportId) throw notOurs();
  return manifest;
}

function readManifest(exportFormat: ExportFormat, content: Uint8Array): ExportManifest {
  try {
    return exportFormat.readManifest(Buffer.from(content).toString());
  } catch {
    // A file that cannot be read is somebody else's, and its text is kept out of the history.
    throw notOurs();
  }
}

/** A list of files in the folder: those of a run, and the name of the list of the runs before. */
type FileList = JobFiles<ExportedFile>;

/**
 * Writes a list, whose name is the digest of its content, so that another content is another list.
 * Returns the name.
 */
export async function storeList(
  deps: Pick<Deps, "exportDestinations">,
  job: ExportJob,
  { files, list }: FileList,
): Promise<string> {
  const content = Buffer.from(JSON.stringify({ files, list }));
  const name = listName(content);
  await folderOf(deps, job).write(name, content);
  return name;
}

const listName = (content: Uint8Array): string =>
  `.${createHash("sha256").update(content).digest("hex")}.list`;

/** Returns the files of all runs in their order; undefined when a list is gone or was changed. */
async function allFiles(
  folder: ExportFolder,
  { files, list }: FileList,
): Promise<readonly ExportedFile[] | undefined> {
  const runs = [files];
  for (let name = list; name !== undefined; ) {
    const content = await folder.read(name);
    if (content === undefined || listName(content) !== name) return undefined;
    const found: FileList = JSON.parse(Buffer.from(content).toString());
    runs.unshift(found.files);
    name = found.list;
  }
  return runs.flat();
}

/**
 * Gives the files of the steps the names of parts, in the order in which each segment was read,
 * deletes all other files but those of the acts, and writes the manifest. May be repeated: the
 * lists are deleted behind the manifest, and without them it has to have the same counts. Refuses
 * to replace a part of a complete export, as a run would that was reset or started twice.
 */
export async function finishExport(
  deps: FileDeps,
  job: ExportJob,
  sum: ExportedEntries,
  { acts, ...listed }: FileList & Pick<ExportManifest, "acts">,
): Promise<void> {
  const folder = folderOf(deps, job);
  const files = await allFiles(folder, listed);
  if (files) await nameParts(deps, job, sum, { files, acts });
  else if (!isDeepStrictEqual(await completeExport(deps, job), sum)) {
    throw wrong("a list of its files was changed or deleted; start the export again");
  }
  for (const name of (await folder.sizes()).keys()) if (isList(name)) await folder.remove(name);
}

const isList = (name: string): boolean => name.endsWith(".list");

async function nameParts(
  deps: FileDeps,
  job: ExportJob,
  { entries, unreadable, unreadables }: ExportedEntries,
  { files, acts }: Pick<ExportManifest, "acts"> & Pick<FileList, "files">,
): Promise<void> {
  const folder = folderOf(deps, job);
  const numbers = new Map<number, number>();
  const bySegment = files.toSorted((a, b) => a.segment - b.segment);
  const parts = bySegment.map(({ segment, ...file }) => {
    const number = (numbers.get(segment) ?? 0) + 1;
    numbers.set(segment, number);
    return { ...file, written: file.name, name: partName(segment, number) };
  });
  const manifest = `${deps.exportFormat.manifest({
    ...nameOf(job),
    window: windowOf(job),
    entries,
    unreadable,
    unreadables,
    parts: parts.map(({ written: _, ...part }) => part),
    acts,
  })}\n`;
  const complete = await folder.read(manifestName);
  if (complete !== undefined && Buffer.from(complete).toString() !== manifest) {
    throw wrong("the export is complete already; delete manifest.json to export again");
  }
  const left = new Map(await folder.sizes());
  const isKept = (name: string) => name === manifestName || isList(name);
  for (const name of left.keys()) if (isKept(name)) left.delete(name);
  for (const { name } of acts.parts) left.delete(name);
  const rename = async ({ name, written, bytes }: (typeof parts)[number]) => {
    const isRenamed = left.get(written) === bytes && (await folder.rename(written, name));
    // Another attempt may have renamed it, before this one or beside it.
    const isThere = async () =>
      left.get(name) === bytes || (await folder.sizes()).get(name) === bytes;
    if (!isRenamed && !(await isThere())) {
      throw wrong(`the file ${name} was changed or deleted; start the export again`);
    }
    left.delete(name);
    left.delete(written);
  };
  for (const batch of inBatches(parts, renamedTogether)) await Promise.all(batch.map(rename));
  for (const name of left.keys()) await folder.remove(name);
  await folder.write(manifestName, Buffer.from(manifest));
}

/** On S3 a part gets its name by a copy, which takes some tenths of a second. */
const renamedTogether = 8;

/** The name of a part, by its segment and its number there, from 1. */
const partName = (segment: number, number: number): string =>
  `part-${segment}-${String(number).padStart(6, "0")}.jsonl.gz`;

const wrong = (message: string): DomainError => new DomainError("WRONG_STATE", message);

const notOurs = (): DomainError =>
  wrong(
    "manifest.json in the folder is not one of this export, and nothing was overwritten; move it " +
      "away and start the export again, or take another id",
  );
