import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";

/** Starts the reservation's workflow; one that runs already stays. */
export async function startRun(
  deps: Pick<Deps, "programs" | "workflows">,
  row: Reservation,
): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.startReservation(row, timeZone);
}

/** Makes the reservation's workflow look again; starts it when `start` is set. */
export async function refreshRun(
  deps: Pick<Deps, "programs" | "workflows">,
  row: Reservation,
  start: boolean,
): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.signalRefresh(row, start, timeZone);
}
