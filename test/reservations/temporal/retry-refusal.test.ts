/** Tests the current details of a failed reservation that no retry helps. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import type { ReservationInput } from "../../../src/reservations/contract/payloads.ts";
import type { ReservationStep } from "../../../src/reservations/contract/reservations.ts";
import { showDetails } from "../../../workflows/reservations/reservation-view.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { at } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const setTime = (text: string) => server.clock.setTime({ time: at(text) });
const executeTime = "2026-11-09T00:00:00Z";

/** Reserves points that end with November, for an account that is frozen when they are due. */
async function reserve(userId: string): Promise<void> {
  await setTime("2026-11-10T00:00:00Z");
  await server.points.freezeAccount({ userId, eventId: "freeze" });
  await server.reservations.createReservation({
    ...{ reservationId: userId, userId, points: 5n, executeTime: at(executeTime) },
    allowPastExecuteTime: true,
    expiry: { case: "expireMonth", value: "2026-11" },
  });
}

/** Makes an attempt as a run of the workflow does, and returns what its details say then. */
async function attempt(userId: string): Promise<string> {
  const { grantNow } = createActivities({ deps: server.deps, ...noObservers });
  const names = { program_id: "default", reservation_id: userId, user_id: userId };
  const environment = new MockActivityEnvironment();
  const step: ReservationStep = await environment.run(grantNow, {
    ...{ ...names, execute_time: executeTime, lead_ms: 1_000, original_run_id: "a run" },
  });
  const input: ReservationInput = { ...names, points: 5, execute_time_at_start: executeTime };
  let details = "";
  const run = { showDetails: (text: string) => (details = text) };
  showDetails(run as never, input, step, executeTime);
  return details;
}

const reserveAnew =
  "**What to do now:** reserve the points anew, with another reservation_id and a later " +
  "expire_month, and call CancelReservation for this one. RetryReservation refuses it, and a " +
  "reset fails again, because its points could not expire as reserved";
const isOver = "2026-11 is over; points can expire at the end of 2026-12 to 2027-11";

test("when its month was over at the grant", async () => {
  await reserve("late");
  await server.points.unfreezeAccount({ userId: "late", eventId: "unfreeze" });
  await setTime("2026-12-10T00:00:00Z");
  const refused = `5 points for late. Refused: ${isOver} (LIMIT_EXCEEDED).`;
  expect(await attempt("late")).toBe(`${refused}\n\n${reserveAnew}.`);
});

test("when it failed for another reason, before its month was over and after it", async () => {
  await reserve("frozen");
  const refused = "5 points for frozen. Refused: the account is frozen (ACCOUNT_FROZEN).";
  expect(await attempt("frozen")).toBe(
    `${refused}\n\n**What to do now:** unfreeze the account, then call RetryReservation or reset ` +
      "this run to its first workflow task. To give it up, call CancelReservation.",
  );
  await setTime("2026-12-10T00:00:00Z");
  expect(await attempt("frozen")).toBe(`${refused}\n\n${reserveAnew}: ${isOver}.`);
});
