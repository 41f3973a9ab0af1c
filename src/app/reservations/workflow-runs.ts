/** Brings the workflow run of a reservation in line with its row. */
import { type Reservation, synced } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows">;

/** Starts the run of a new reservation. */
export async function startRun(deps: SyncDeps, row: Reservation): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.startReservation(row, timeZone);
  await confirmSync(deps, row);
}

/** Refreshes the run of a reservation whose row has changed, or requests its cancellation. */
export async function syncRun(deps: SyncDeps, row: Reservation): Promise<void> {
  if (row.state === "CANCELLED") {
    await deps.workflows.cancelReservationRun(row);
  } else if (row.state === "PENDING") {
    const { timeZone } = await deps.programs.get(row.programId);
    await deps.workflows.refreshReservation(row, timeZone);
  }
  await confirmSync(deps, row);
}

/** Marks the row as synced, unless it has changed again. */
async function confirmSync({ engine }: SyncDeps, row: Reservation): Promise<void> {
  if (!row.unsynced) return;
  const ref = reservationRef(row.programId, row.reservationId);
  await engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx) {
      const found = tx.get(ref);
      const isSame =
        found?.state === row.state &&
        found.executeTime === row.executeTime &&
        found.updateTime === row.updateTime;
      if (isSame && found.unsynced) tx.put(ref, synced(found));
    },
  });
}
