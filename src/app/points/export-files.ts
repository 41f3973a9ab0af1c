/** The files of an export: begins them, gives parts their names, and completes them. */
import { manifestName } from "../../contract/exports.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Deps } from "../ports/deps.ts";
import type { ExportManifest, ExportRequest } from "../ports/exports.ts";
import { exportIdReused } from "./export-ledger.ts";

type FileDeps = Pick<Deps, "exportDestinations" | "exportFormat">;

/**
 * Returns the manifest of an export that is complete already. Otherwise deletes what a run that has
 * ended early has left in the folder. Refusals: those of the destination, and ID_REUSED when the
 * manifest is that of other instants.
 */
export async function openExport(
  { exportDestinations, exportFormat }: FileDeps,
  request: ExportRequest,
): Promise<ExportManifest | undefined> {
  const folder = exportDestinations.folder(request.destination, request);
  const found = await folder.read(manifestName);
  if (found === undefined) {
    for (const name of await folder.list()) await folder.remove(name);
    return undefined;
  }
  const manifest = exportFormat.readManifest(Buffer.from(found).toString());
  const { start, end } = manifest.window;
  if (start === request.window.start && end === request.window.end) return manifest;
  throw exportIdReused();
}

/** Gives the file of a step the name of a part. May be repeated. */
export async function keepPart(
  { exportDestinations }: Pick<Deps, "exportDestinations">,
  request: ExportRequest,
  from: string,
  to: string,
): Promise<void> {
  const folder = exportDestinations.folder(request.destination, request);
  if (await folder.rename(from, to)) return;
  // An earlier attempt has renamed it, or somebody has deleted it.
  if (!(await folder.list()).includes(to)) throw partGone(to);
}

/** Deletes what is no part, and writes the manifest. May be repeated. */
export async function finishExport(
  { exportDestinations, exportFormat }: FileDeps,
  destination: string,
  manifest: ExportManifest,
): Promise<void> {
  const folder = exportDestinations.folder(destination, manifest);
  const left = new Set(await folder.list());
  for (const { name } of manifest.parts) {
    if (!left.delete(name)) throw partGone(name);
  }
  for (const name of left) await folder.remove(name);
  await folder.write(manifestName, Buffer.from(`${exportFormat.manifest(manifest)}\n`));
}

const partGone = (name: string): DomainError =>
  new DomainError("WRONG_STATE", `the file ${name} was deleted; start the export again`);
