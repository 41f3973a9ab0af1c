/** Calls that store reservations in each state. */
import {
  cancelReservation,
  createReservation,
  rescheduleReservation,
  retryReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { notifyGranted } from "../../../src/reservations/use-cases/notify-granted.ts";
import { alice, programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeReservations({ deps, clock, step }: Recorder): Promise<void> {
  const inAnHour = clock.time + 3_600_000;
  const nameOf = (reservationId: string) => ({ programId, reservationId, deadline: undefined });
  const reserve = (reservationId: string, userId: string, traceparent?: string) =>
    createReservation(deps, {
      ...nameOf(reservationId),
      userId,
      points: 10,
      reason: "birthday",
      executeTime: inAnHour,
      caller: alice,
      traceparent,
    });
  await step("create reservations", async () => {
    await reserve("r-ann", "ann");
    await reserve("r-bo", "bo");
    await reserve("r-cy", "cy");
    await reserve("r-di", "di", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  });
  await step("move a reservation without a reason", () =>
    rescheduleReservation(deps, {
      ...nameOf("r-ann"),
      caller: alice,
      reason: "",
      executeTime: inAnHour + 60_000,
    }),
  );
  await step("cancel a reservation for another caller", () =>
    cancelReservation(deps, { ...nameOf("r-cy"), caller: shop, reason: "left the shop" }),
  );
  clock.time = inAnHour + 60_000;
  await step("grant a reservation", async () => {
    const done = await executeReservation(deps, { ...nameOf("r-ann"), userId: "ann" });
    if (done.outcome === "DONE") await notifyGranted(deps, done);
  });
  await step("fail a reservation", () =>
    executeReservation(deps, { ...nameOf("r-bo"), userId: "bo" }),
  );
  await step("retry it for another caller", () =>
    retryReservation(deps, {
      ...nameOf("r-bo"),
      caller: { service: "desk", subject: "carol" },
      reason: "it may be unfrozen",
    }),
  );
}
