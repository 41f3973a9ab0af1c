/** Tests what the lateness of a reservation counts from. */
import { durationFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { executeReservation } from "../../../src/app/reservations/execute.ts";
import { at } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

test("a retry months after the execute time is no lateness of months", async () => {
  const { points, reservations, deps } = server;
  const userId = "user";
  const name = { programId: "default", reservationId: "late" };
  const execute = () => executeReservation(deps, { ...name, userId });
  await points.freezeAccount({ userId, eventId: "freeze" });
  const executeTime = at("2026-01-01T00:00:00Z");
  await reservations.createReservation({ ...name, userId, points: 5n, executeTime });
  expect((await execute()).outcome).toBe("FAILED");
  const failed = await reservations.getReservation(name);
  expect(failed.reservation?.lateness).toBeUndefined();

  await points.unfreezeAccount({ userId, eventId: "unfreeze" });
  const { reservation: retried } = await reservations.retryReservation(name);
  expect((await execute()).outcome).toBe("DONE");
  const { reservation: done } = await reservations.getReservation(name);
  if (!done?.grantTime || !retried?.updateTime) throw new Error("the times are missing");
  const sinceRetry = timestampMs(done.grantTime) - timestampMs(retried.updateTime);
  expect(done.lateness).toEqual(durationFromMs(Math.max(0, sinceRetry)));
});
