/** Calls that store what led to a change, and other points of a reservation. */
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import {
  changeReservationPoints,
  createReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { alice, programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeCauses({ deps, clock, step }: Recorder): Promise<void> {
  const about = { programId, userId: "eve", reason: "", cause: "campaign-1", deadline: undefined };
  const name = { programId, reservationId: "r-eve", deadline: undefined };
  await step("grant points for a cause", () =>
    grantPoints(deps, { ...about, eventId: "order-6", caller: shop, points: 5 }),
  );
  await step("create a reservation for a cause", () => {
    const executeTime = clock.time + 3_600_000;
    return createReservation(deps, { ...about, ...name, points: 10, executeTime, caller: alice });
  });
  await step("raise its points", () =>
    changeReservationPoints(deps, { ...name, caller: shop, reason: "a better offer", points: 25 }),
  );
}
