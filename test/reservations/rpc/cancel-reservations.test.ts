/** Tests that the reservations of a user, or of a reason and a time, are cancelled together. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { cancelReservations } from "../../../src/reservations/use-cases/cancel-reservations.ts";
import { execute, failReservation } from "../../support/fixtures/failed-reservation.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const hour = (i: number) => at(new Date(Date.UTC(2029, 0, 1, i)).toISOString());
const past = at("2020-01-01T00:00:00Z");
const programId = "default";

const reserve = (
  reservationId: string,
  userId: string,
  more: { readonly reason?: string; readonly executeTime?: ReturnType<typeof at> } = {},
) =>
  server.reservations.createReservation({
    reservationId,
    userId,
    points: 10n,
    executeTime: hour(1),
    allowPastExecuteTime: true,
    ...more,
  });

const read = async (reservationId: string) =>
  (await server.reservations.getReservation({ reservationId })).reservation;

const stateOf = async (reservationId: string) => (await read(reservationId))?.state;

const ofUser = (value: string) => ({ case: "userId", value }) as const;
const ofReason = (reasonPrefix: string, start: number, end: number) =>
  ({
    case: "reasonFilter",
    value: { reasonPrefix, executeTimeFrom: hour(start), executeTimeBefore: hour(end) },
  }) as const;

describe("of a user", () => {
  test("pending and failed ones are cancelled; granted and cancelled ones stay", async () => {
    const userId = "leaves";
    const granted = { programId, reservationId: "l-done", userId };
    await reserve("l-done", userId, { executeTime: past });
    await execute(server.deps, granted);
    await reserve("l-cancelled", userId);
    await server.reservations.cancelReservation({ reservationId: "l-cancelled" });
    await failReservation(server, { programId, reservationId: "l-failed", userId });
    await reserve("l-due", userId, { executeTime: past });
    await reserve("l-later", userId, { executeTime: hour(2) });
    await reserve("l-other", "stays");
    const request = { filter: ofUser(userId), reason: "the user left" };
    const expected = {
      cancelledCount: 3,
      cancelledPoints: 30n,
      reservationIds: ["l-due", "l-later", "l-failed"],
      skippedCount: 0,
      errorCount: 0,
      errors: [],
      nextPageToken: "",
    };

    const tried = { ...request, validateOnly: true };
    expect(await server.reservations.cancelReservations(tried)).toMatchObject(expected);
    expect(await stateOf("l-later")).toBe(State.PENDING);

    expect(await server.reservations.cancelReservations(request)).toMatchObject(expected);
    for (const id of expected.reservationIds) {
      expect(await read(id)).toMatchObject({
        state: State.CANCELLED,
        lastChange: { caller: asService("tests"), reason: "the user left" },
      });
    }
    expect(await read("l-cancelled")).toMatchObject({ lastChange: { reason: "" } });
    expect(await stateOf("l-done")).toBe(State.DONE);
    expect(await stateOf("l-other")).toBe(State.PENDING);
    await eventually(async () =>
      expect(server.workflows.calls).toContain("cancelReservationRun default l-later"),
    );

    const again = await server.reservations.cancelReservations(request);
    expect(again).toMatchObject({ cancelledCount: 0, skippedCount: 0, nextPageToken: "" });
  });

  test("without any, and of an unknown program", async () => {
    const none = await server.reservations.cancelReservations({ filter: ofUser("nobody") });
    expect(none).toMatchObject({ cancelledCount: 0, cancelledPoints: 0n, nextPageToken: "" });
    const unknown = { programId: "none", filter: ofUser("nobody") };
    expect(await reasonOf(server.reservations.cancelReservations(unknown))).toBe(
      "PROGRAM_NOT_FOUND",
    );
  });
});

describe("of a reason", () => {
  test("those in the window are cancelled, failed ones last", async () => {
    for (let i = 1; i <= 6; i++) {
      const reason = i % 2 ? "sale: shoes" : "a sale";
      await reserve(`s-${i}`, `shopper-${i}`, { reason, executeTime: hour(i) });
    }
    await server.points.freezeAccount({ userId: "shopper-7", eventId: "f" });
    const name = { programId, reservationId: "s-7", userId: "shopper-7" };
    await reserve("s-7", "shopper-7", { reason: "sale: hats", executeTime: past });
    await execute(server.deps, name);
    expect(await stateOf("s-7")).toBe(State.FAILED);

    const early = { filter: ofReason("sale", 3, 5), reason: "sale is over" };
    expect(await server.reservations.cancelReservations(early)).toMatchObject({
      cancelledCount: 1,
      reservationIds: ["s-3"],
    });
    const value = { reasonPrefix: "sale", executeTimeFrom: past, executeTimeBefore: hour(99) };
    const all = { filter: { case: "reasonFilter", value } as const };
    expect(await server.reservations.cancelReservations(all)).toMatchObject({
      cancelledCount: 3,
      reservationIds: ["s-1", "s-5", "s-7"],
    });
    for (const id of ["s-2", "s-4", "s-6"]) expect(await stateOf(id)).toBe(State.PENDING);
  });
});

describe("many", () => {
  const count = 230;
  const reserveMany = async (userId: string) => {
    const all = Array.from({ length: count }, (_, i) => ({
      reservationId: `${userId}-${i}`,
      userId,
      points: 1n,
      executeTime: hour(i),
    }));
    for (let i = 0; i < count; i += 100) {
      const reservations = all.slice(i, i + 100);
      await server.reservations.batchCreateReservations({ reservations }, { timeoutMs: 60_000 });
    }
  };

  test("are named up to 100", async () => {
    await reserveMany("crowd");
    const request = { filter: ofUser("crowd"), validateOnly: true };
    const { cancelledCount, reservationIds } =
      await server.reservations.cancelReservations(request);
    expect(cancelledCount).toBe(count);
    const first = Array.from({ length: 100 }, (_, i) => `crowd-${i}`);
    expect(reservationIds).toEqual(first);
  });

  test("end with a token before the deadline, and further calls do the rest", async () => {
    await reserveMany("hurry");
    // The end of this deadline is too near to begin a second page.
    const first = await cancelReservations(
      server.deps,
      {
        programId,
        filter: { userId: "hurry" },
        caller: asService("tests"),
        reason: "",
        cursor: undefined,
        deadline: performance.now() + 999,
      },
      () => undefined,
    );
    expect(first.cancelled.length + first.errors.length).toBe(100);
    for (const { error } of first.errors) expect(error.retryable).toBe(true);
    expect(first.cursor).toBeDefined();

    const filter = ofUser("hurry");
    const rest = await allResponses((pageToken) =>
      server.reservations.cancelReservations({ filter, pageToken }, { timeoutMs: 60_000 }),
    );
    const cancelled = rest.reduce((sum, { cancelledCount }) => sum + cancelledCount, 0);
    // What the first call sent, but could not answer before its deadline, may have been cancelled.
    expect(cancelled).toBeLessThanOrEqual(count - first.cancelled.length);
    const left = await server.reservations.cancelReservations({ filter, validateOnly: true });
    expect(left.cancelledCount).toBe(0);
  });

  test("a token is valid only for its request", async () => {
    const request = { filter: ofUser("crowd"), validateOnly: true };
    // A deadline that is too near to begin a second page.
    const { nextPageToken: pageToken } = await eventually(() =>
      server.reservations.cancelReservations(request, { timeoutMs: 1_000 }),
    );
    expect(pageToken).not.toBe("");
    const rest = await server.reservations.cancelReservations({ ...request, pageToken });
    expect(rest.cancelledCount).toBe(count - 100);
    for (const wrong of [
      { ...request, validateOnly: false },
      { ...request, filter: ofUser("stays") },
      { ...request, filter: ofReason("r", 1, 2) },
      { ...request, reason: "x" },
    ]) {
      const call = server.reservations.cancelReservations({ ...wrong, pageToken });
      expect((await refusalOf(call)).fields).toEqual(["page_token"]);
    }
  });
});

test("one that is moved out of the window, or granted, meanwhile is skipped", async () => {
  await reserve("m-moved", "mover", { reason: "race", executeTime: hour(1) });
  await reserve("m-done", "mover", { reason: "race", executeTime: past });
  await reserve("m-stays", "mover", { reason: "race", executeTime: hour(1) });
  const { deps } = server;
  const { reservationsInState } = deps.reader;
  // Between the list and the cancel.
  const racing: typeof deps.reader = {
    ...deps.reader,
    async reservationsInState(...query) {
      const page = await reservationsInState(...query);
      if (query[1] === "PENDING") {
        const moved = { reservationId: "m-moved", executeTime: hour(8) };
        await server.reservations.rescheduleReservation(moved);
        await execute(deps, { programId, reservationId: "m-done", userId: "mover" });
      }
      return page;
    },
  };
  const result = await cancelReservations(
    { ...deps, reader: racing },
    {
      programId,
      filter: { reasonPrefix: "race", start: 0, end: Date.UTC(2029, 0, 1, 5) },
      caller: asService("tests"),
      reason: "",
      cursor: undefined,
      deadline: undefined,
    },
    () => undefined,
  );
  expect(result.cancelled.map(({ reservationId }) => reservationId)).toEqual(["m-stays"]);
  expect([result.skipped, result.errors]).toEqual([2, []]);
  expect(await stateOf("m-moved")).toBe(State.PENDING);
  expect(await stateOf("m-done")).toBe(State.DONE);
});
