/** Starts and refreshes the workflow run of a reservation. */
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";

/** Starts the reservation's workflow unless it is running. */
export async function startRun(
  deps: Pick<Deps, "programs" | "workflows">,
  row: Reservation,
): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.startReservation(row, timeZone);
}

/** Makes the reservation's workflow read the row again; starts it first when `start` is set. */
export async function refreshRun(
  deps: Pick<Deps, "programs" | "workflows">,
  row: Reservation,
  start: boolean,
): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.signalRefresh(row, start, timeZone);
}
