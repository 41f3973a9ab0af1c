/** The use cases that start an export of a program's ledgers, and read how far it has come. */
import { DomainError } from "../../domain/errors.ts";
import { entriesSettleMs } from "../../domain/ledger.ts";
import type { Deps } from "../ports/deps.ts";
import type { ExportCall, ExportName, LedgerExport } from "../ports/exports.ts";

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
  const { start, end } = request.window;
  if (start !== undefined && start >= end) throw badEnd("has to be after create_time_from");
  const { calendar } = await deps.clock.now();
  if (end > calendar - entriesSettleMs) throw badEnd("has to be at least 30 seconds ago");
  const earlier = await deps.workflows.ledgerExport(request);
  if (earlier) requireSame(earlier, request);
  if (!earlier || earlier.state === "FAILED") await deps.workflows.startExport(request);
  else return earlier;
  const started = await getLedgerExport(deps, request);
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
  if (!found) throw new DomainError("EXPORT_NOT_FOUND", "there is no such export");
  return found;
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

const badEnd = (message: string): DomainError =>
  new DomainError("INVALID_REQUEST", `create_time_before ${message}`, {
    field: "create_time_before",
  });
