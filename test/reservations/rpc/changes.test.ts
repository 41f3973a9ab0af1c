/** Tests who changed a reservation last and why, and that a failed one can be cancelled. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { execute, failReservation } from "../../support/fixtures/failed-reservation.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const programId = "default";
const executeTime = at("2029-01-01T00:00:00Z");

const create = (reservationId: string, userId = "u") =>
  server.reservations.createReservation({ reservationId, userId, points: 10n, executeTime });

const read = async (reservationId: string) => {
  const { reservation } = await server.reservations.getReservation({ reservationId });
  return reservation;
};

const lastChange = async (reservationId: string) => {
  const change = (await read(reservationId))?.lastChange;
  return change && [change.caller?.service, change.reason];
};

describe("an execute time more than a day ago", () => {
  // Seconds that were taken for milliseconds.
  const executeTime = at("1970-01-21T17:00:28.8Z");
  const refused = {
    code: "InvalidArgument",
    reason: "INVALID_REQUEST",
    message: expect.stringMatching(/reads as 1970-01-21T17:00:28.800Z; seconds taken for milli/),
    fields: ["execute_time"],
  };
  const past = { userId: "late", points: 10n, executeTime };
  const recently = timestampFromMs(Date.now() - 3_600_000);

  test("is refused by a creation that does not ask for it, and nothing is stored", async () => {
    const { reservations } = server;
    const request = { ...past, reservationId: "p-1" };
    expect(await refusalOf(reservations.createReservation(request))).toMatchObject(refused);
    const dryRun = { ...request, validateOnly: true };
    expect(await refusalOf(reservations.createReservation(dryRun))).toMatchObject(refused);
    expect(await reasonOf(read("p-1"))).toBe("RESERVATION_NOT_FOUND");
    const allowed = { ...request, allowPastExecuteTime: true };
    const { reservation } = await reservations.createReservation(allowed);
    expect(reservation).toMatchObject({ state: State.PROCESSING, executeTime });
    // The reservation exists, so the same request is a replay.
    expect(await reservations.createReservation(request)).toMatchObject({ replayed: true });
  });

  test("of one in a batch refuses this one only", async () => {
    const { reservations } = server;
    const items = [
      { ...past, reservationId: "p-2" },
      { ...past, reservationId: "p-3", executeTime: recently },
    ];
    const casesOf = async (allowPastExecuteTime: boolean) => {
      const request = { reservations: items, allowPastExecuteTime };
      const { results } = await reservations.batchCreateReservations(request);
      return results.map(({ outcome: { case: name, value } }) =>
        name === "error" ? [value.reason, value.message] : name,
      );
    };
    expect(await casesOf(false)).toEqual([[refused.reason, refused.message], "created"]);
    expect(await casesOf(true)).toEqual(["created", "created"]);
  });

  test("is refused by a reschedule, unless it asks for it or nothing changes", async () => {
    const { reservations } = server;
    const name = { reservationId: "p-4" };
    await create(name.reservationId);
    const move = (more: object) => reservations.rescheduleReservation({ ...name, ...more });
    expect(await refusalOf(move({ executeTime }))).toMatchObject(refused);
    expect((await read("p-4"))?.lastChange).toBeUndefined();
    expect((await move({ executeTime: recently })).reservation?.state).toBe(State.PROCESSING);
    const allowed = { executeTime, allowPastExecuteTime: true };
    expect((await move(allowed)).reservation?.executeTime).toEqual(executeTime);
    expect((await move({ executeTime })).reservation?.executeTime).toEqual(executeTime);
  });
});

describe("the last change", () => {
  test("is unset at first, then a reschedule, then a cancel", async () => {
    const desk = server.clientsOf("desk").reservations;
    const { reservation } = await create("r-1");
    expect(reservation).toMatchObject({ creator: asService("tests") });
    expect(reservation?.lastChange).toBeUndefined();
    const later = at("2029-02-01T00:00:00Z");
    const moved = { reservationId: "r-1", executeTime: later, reason: "moved the party" };
    await desk.rescheduleReservation(moved);
    expect(await lastChange("r-1")).toEqual(["desk", "moved the party"]);
    const first = await read("r-1");
    expect(first?.lastChange?.time).toEqual(first?.updateTime);
    await server.reservations.cancelReservation({ reservationId: "r-1" });
    expect(await lastChange("r-1")).toEqual(["tests", ""]);
    expect(await read("r-1")).toMatchObject({
      creator: asService("tests"),
      state: State.CANCELLED,
    });
  });
});

describe("a failed reservation", () => {
  test("is cancelled for good and still says why it had failed", async () => {
    const name = { programId, reservationId: "f-1", userId: "frozen" };
    await failReservation(server, name);
    const reservationId = "f-1";
    expect((await read(reservationId))?.state).toBe(State.FAILED);
    const reason = "the user left";
    const { reservation } = await server.reservations.cancelReservation({
      reservationId,
      reason,
    });
    expect(reservation).toMatchObject({
      state: State.CANCELLED,
      failure: { reason: "ACCOUNT_FROZEN" },
      lastChange: { caller: asService("tests"), reason },
    });
    await server.points.unfreezeAccount({ userId: "frozen", eventId: "unfreeze" });
    expect(await reasonOf(server.reservations.retryReservation({ reservationId }))).toBe(
      "WRONG_STATE",
    );
    await execute(server.deps, name);
    const { balance } = await server.points.getBalance({ userId: "frozen" });
    expect(balance?.availablePoints).toBe(0n);
    expect(await read(reservationId)).toEqual(reservation);
  });

  test("is retried with who and why", async () => {
    await failReservation(server, { programId, reservationId: "f-2", userId: "frozen-2" });
    const desk = server.clientsOf("desk").reservations;
    const retried = await desk.retryReservation({ reservationId: "f-2", reason: "mended" });
    expect(retried.reservation).toMatchObject({
      lastChange: { caller: asService("desk"), reason: "mended" },
    });
    expect(retried.reservation?.failure).toBeUndefined();
  });
});
