/** The files of an export: begins them, gives parts their names, and completes them. */

import { DomainError } from "../../platform/words/errors.ts";
import { manifestName } from "../contract/exports.ts";
import type { Deps } from "../ports/deps.ts";
import type { ExportFormat, ExportManifest, ExportRequest } from "../ports/exports.ts";
import { exportIdReused, requirePast } from "./export-ledger.ts";

type FileDeps = Pick<Deps, "exportDestinations" | "exportFormat">;

/**
 * Returns the manifest of an export that is complete already. Otherwise deletes what a run that has
 * ended early has left in the folder. Refusals: those of the destination, INVALID_REQUEST for
 * instants that `exportLedger` refuses, ID_REUSED when the manifest is that of other instants, and
 * WRONG_STATE when it is not one of this export, or when a part is not there as it says.
 */
export async function openExport(
  { exportDestinations, exportFormat, ...deps }: FileDeps & Pick<Deps, "clock">,
  request: ExportRequest,
): Promise<ExportManifest | undefined> {
  await requirePast(deps, request.window);
  const folder = exportDestinations.folder(request.destination, request);
  const found = await folder.read(manifestName);
  if (found === undefined) {
    for (const name of (await folder.sizes()).keys()) await folder.remove(name);
    return undefined;
  }
  const manifest = readManifest(exportFormat, found);
  const { programId, exportId, window } = manifest;
  if (programId !== request.programId || exportId !== request.exportId) throw notOurs();
  const { start, end } = request.window;
  if (window.start !== start || window.end !== end) throw exportIdReused();
  const sizes = await folder.sizes();
  const damaged = manifest.parts.find(({ name, bytes }) => sizes.get(name) !== bytes);
  if (!damaged) return manifest;
  throw wrong(
    `the export is complete, but ${damaged.name} was changed or deleted since; ` +
      "delete manifest.json and start the export again",
  );
}

function readManifest(exportFormat: ExportFormat, content: Uint8Array): ExportManifest {
  try {
    return exportFormat.readManifest(Buffer.from(content).toString());
  } catch {
    // What cannot be read is somebody else's, and its text is kept out of the history.
    throw notOurs();
  }
}

/**
 * Gives the file of a step the name of a part. May be repeated. Refuses to replace a part of a
 * complete export, as a run would that was reset or started twice.
 */
export async function keepPart(
  { exportDestinations }: Pick<Deps, "exportDestinations">,
  request: ExportRequest,
  from: string,
  to: string,
): Promise<void> {
  const folder = exportDestinations.folder(request.destination, request);
  if ((await folder.read(manifestName)) !== undefined) {
    throw wrong("the export is complete already; delete manifest.json to export again");
  }
  if (await folder.rename(from, to)) return;
  // An earlier attempt has renamed it, or somebody has deleted it.
  if (!(await folder.sizes()).has(to)) throw partGone(to);
}

/** Deletes what is no part, and writes the manifest. May be repeated. */
export async function finishExport(
  { exportDestinations, exportFormat }: FileDeps,
  destination: string,
  manifest: ExportManifest,
): Promise<void> {
  const folder = exportDestinations.folder(destination, manifest);
  const left = new Map(await folder.sizes());
  for (const { name, bytes } of manifest.parts) {
    if (left.get(name) !== bytes) throw partGone(name);
    left.delete(name);
  }
  for (const name of left.keys()) await folder.remove(name);
  await folder.write(manifestName, Buffer.from(`${exportFormat.manifest(manifest)}\n`));
}

const wrong = (message: string): DomainError => new DomainError("WRONG_STATE", message);

const partGone = (name: string): DomainError =>
  wrong(`the file ${name} was changed or deleted; start the export again`);

const notOurs = (): DomainError =>
  wrong(
    "manifest.json in the folder is not one of this export, and nothing was overwritten; move it " +
      "away and start the export again, or take another id",
  );
