/** The use cases that start an export of a program's ledgers, and read how far it has come. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import type { ExportCall, ExportName, ExportRequest, LedgerExport } from "../ports/exports.ts";
import { lateEntriesMs } from "../rules/ledger.ts";

/**
 * Starts an export, or joins the one with its id. One that has failed starts again. Refusals:
 * PROGRAM_NOT_FOUND, INVALID_REQUEST, PERMISSION_DENIED, ID_REUSED.
 */
export async function exportLedger(
  deps: Pick<Deps, "programs" | "workflows" | "clock" | "exportDestinations">,
  request: ExportCall,
): Promise<LedgerExport> {
  await deps.programs.get(request.programId);
  deps.exportDestinations.folder(request.destination, request);
  await requirePast(deps, request.window);
  const earlier = await deps.workflows.ledgerExport(request);
  if (earlier) requireSame(earlier, request);
  if (!earlier || earlier.state === "FAILED") await deps.workflows.startExport(request);
  else return earlier;
  const started = await deps.workflows.ledgerExport(request);
  if (!started) {
    const message = "the run with this export_id was started by hand: only Temporal shows it";
    throw new DomainError("ID_REUSED", message);
  }
  requireSame(started, request);
  return started;
}

/** Returns an export. Refusals: PROGRAM_NOT_FOUND, EXPORT_NOT_FOUND. */
export async function getLedgerExport(
  deps: Pick<Deps, "programs" | "workflows">,
  name: ExportName,
): Promise<LedgerExport> {
  await deps.programs.get(name.programId);
  const found = await deps.workflows.ledgerExport(name);
  if (found) return found;
  const message = "there is no such export, or its run was started by hand: only Temporal has it";
  throw new DomainError("EXPORT_NOT_FOUND", message);
}

/** Checks the instants of an export. Refuses, with INVALID_REQUEST, what may still be recorded. */
export async function requirePast(
  { clock }: Pick<Deps, "clock">,
  { start = 0, end }: ExportRequest["window"],
): Promise<void> {
  for (const [field, time] of [
    ["create_time_from", start],
    ["create_time_before", end],
  ] as const) {
    if (Number.isSafeInteger(time) && time >= 0) continue;
    throw badTime(field, "has to be in whole milliseconds since 1970");
  }
  if (start >= end) throw badTime("create_time_before", "has to be after create_time_from");
  const { calendar } = await clock.now();
  if (end > calendar - lateEntriesMs) {
    throw badTime("create_time_before", `has to be at least ${lateEntriesMs / 60_000} minutes ago`);
  }
}

function requireSame(found: ExportCall, asked: ExportCall): void {
  const { destination, window, caller } = found;
  const isSame =
    caller.service === asked.caller.service &&
    destination === asked.destination &&
    window.start === asked.window.start &&
    window.end === asked.window.end;
  if (isSame) return;
  throw exportIdReused();
}

export const exportIdReused = (): DomainError =>
  new DomainError(
    "ID_REUSED",
    "the export with this id has another destination, other times or another caller",
  );

const badTime = (field: string, message: string): DomainError =>
  new DomainError("INVALID_REQUEST", `${field} ${message}`, { field });
