/** Tests reservations whose points end early. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dumpAtRest } from "../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await setTime("2026-11-10T00:00:00Z");
});
afterAll(() => server.stop());

const setTime = (text: string) => server.clock.setTime({ time: at(text) });
const month = (value: string) => ({ case: "expireMonth", value }) as const;
const after = (value: number) => ({ case: "expireAfterMonths", value }) as const;
type Expiry = ReturnType<typeof month> | ReturnType<typeof after>;

const reserve = (reservationId: string, executeTime: string, expiry: Expiry) =>
  server.reservations.createReservation({
    reservationId,
    userId: reservationId,
    points: 5n,
    executeTime: at(executeTime),
    allowPastExecuteTime: true,
    expiry,
  });

const execute = (reservationId: string) =>
  executeReservation(server.deps, { programId: "default", reservationId, userId: reservationId });

/** When the points of a granted reservation expire. */
async function expireTimeOf(userId: string): Promise<string | undefined> {
  const { balance } = await server.points.getBalance({ userId });
  const time = balance?.nextExpiring?.expireTime;
  return time && timestampDate(time).toISOString();
}

test("expire_month and expire_after_months are kept, and decide when the points end", async () => {
  await setTime("2026-11-10T00:00:00Z");
  const first = await reserve("a", "2026-11-09T00:00:00Z", month("2027-01"));
  expect(first.reservation?.expiry).toEqual(month("2027-01"));
  const second = await reserve("b", "2026-11-09T00:00:00Z", after(2));
  expect(second.reservation?.expiry).toEqual(after(2));
  expect(await reserve("a", "2026-11-09T00:00:00Z", month("2027-01"))).toMatchObject({
    replayed: true,
  });
  const other = await refusalOf(reserve("a", "2026-11-09T00:00:00Z", after(3)));
  expect(other.reason).toBe("ID_REUSED");
  for (const id of ["a", "b"]) expect((await execute(id)).outcome).toBe("DONE");
  expect(await expireTimeOf("a")).toBe("2027-01-31T15:00:00.000Z");
  expect(await expireTimeOf("b")).toBe("2026-12-31T15:00:00.000Z");
});

test("expire_after_months counts from the month of the grant", async () => {
  await setTime("2026-11-10T00:00:00Z");
  await reserve("late", "2026-11-09T00:00:00Z", after(1));
  await setTime("2027-02-10T00:00:00Z");
  expect((await execute("late")).outcome).toBe("DONE");
  expect(await expireTimeOf("late")).toBe("2027-02-28T15:00:00.000Z");
});

test("a month that is over at the grant fails it, and a retry is refused", async () => {
  await setTime("2026-11-10T00:00:00Z");
  await reserve("over", "2026-11-09T00:00:00Z", month("2026-11"));
  await setTime("2026-12-01T00:00:00+09:00");
  expect((await execute("over")).outcome).toBe("FAILED");
  const name = { reservationId: "over" };
  const { reservation } = await server.reservations.getReservation(name);
  expect(reservation).toMatchObject({
    state: State.FAILED,
    failure: { reason: "LIMIT_EXCEEDED" },
  });
  expect(reservation?.failure?.message).toContain("2026-11 is over");
  const stored = await dumpAtRest(server);
  for (const validateOnly of [true, false]) {
    const refusal = await refusalOf(
      server.reservations.retryReservation({ ...name, validateOnly }),
    );
    expect(refusal).toMatchObject({
      reason: "LIMIT_EXCEEDED",
      message: expect.stringContaining("2026-11 is over"),
      metadata: { earliest_expire_month: "2026-12", latest_expire_month: "2027-11" },
    });
  }
  expect(await dumpAtRest(server)).toEqual(stored);
  expect((await server.points.getBalance({ userId: "over" })).balance?.version).toBe(0n);
  // A creation that is sent again after its month is over finds what the first one has created.
  expect(await reserve("over", "2026-11-09T00:00:00Z", month("2026-11"))).toMatchObject({
    replayed: true,
  });
});

/** Makes a reservation whose grant was refused because its account was frozen. */
async function failFrozen(reservationId: string, expiry: Expiry): Promise<void> {
  const userId = reservationId;
  await server.points.freezeAccount({ userId, eventId: `freeze-${userId}` });
  await reserve(reservationId, "2026-11-09T00:00:00Z", expiry);
  expect((await execute(reservationId)).outcome).toBe("FAILED");
  await server.points.unfreezeAccount({ userId, eventId: `unfreeze-${userId}` });
}

test("a failed one can be retried until its month is over", async () => {
  await setTime("2026-11-10T00:00:00Z");
  await failFrozen("in-time", month("2026-11"));
  await failFrozen("too-late", month("2026-11"));
  await failFrozen("counted", after(1));
  await failFrozen("pending", month("2026-11"));
  const retry = (reservationId: string) => server.reservations.retryReservation({ reservationId });
  await setTime("2026-11-30T23:59:59+09:00");
  for (const id of ["in-time", "pending"]) await retry(id);
  expect((await execute("in-time")).outcome).toBe("DONE");
  await setTime("2026-12-01T00:00:00+09:00");
  expect(await reasonOf(retry("too-late"))).toBe("LIMIT_EXCEEDED");
  await retry("counted");
  expect((await execute("counted")).outcome).toBe("DONE");
  expect(await expireTimeOf("counted")).toBe("2026-12-31T15:00:00.000Z");
  // It was retried already, so the call changes nothing.
  expect((await retry("pending")).reservation?.state).toBe(State.PROCESSING);
});

test("an expiry that is impossible at the execute time is refused", async () => {
  await setTime("2026-11-10T00:00:00Z");
  for (const expiry of [month("2027-02"), month("2028-03"), after(13)]) {
    const refusal = await refusalOf(reserve("bad", "2027-03-10T00:00:00Z", expiry));
    expect(refusal).toMatchObject({
      reason: "LIMIT_EXCEEDED",
      metadata: { earliest_expire_month: "2027-03", latest_expire_month: "2028-02" },
    });
  }
  const item = { userId: "u", points: 1n, executeTime: at("2027-03-10T00:00:00Z") };
  const { results } = await server.reservations.batchCreateReservations({
    reservations: [
      { ...item, reservationId: "batch-bad", expiry: month("2027-02") },
      { ...item, reservationId: "batch-good", expiry: month("2027-03") },
    ],
  });
  expect(results.map(({ outcome }) => outcome.case)).toEqual(["error", "created"]);
  expect(results[0]?.outcome.value).toMatchObject({ reason: "LIMIT_EXCEEDED" });
});

test("a time at which the expiry is impossible is refused, and nothing moves", async () => {
  await setTime("2026-11-10T00:00:00Z");
  await reserve("m", "2027-03-10T00:00:00Z", month("2028-02"));
  const move = (executeTime: string) =>
    server.reservations.rescheduleReservation({
      reservationId: "m",
      executeTime: at(executeTime),
      allowPastExecuteTime: true,
    });
  const ends = (earliest: string, latest: string) => ({
    reason: "LIMIT_EXCEEDED",
    metadata: { earliest_expire_month: earliest, latest_expire_month: latest },
  });
  expect(await refusalOf(move("2028-03-01T00:00:00+09:00"))).toMatchObject(
    ends("2028-03", "2029-02"),
  );
  expect(await refusalOf(move("2027-02-10T00:00:00Z"))).toMatchObject(ends("2027-02", "2028-01"));
  // A past time means now.
  expect(await refusalOf(move("2020-01-01T00:00:00Z"))).toMatchObject(ends("2026-11", "2027-10"));
  const { reservation } = await server.reservations.getReservation({ reservationId: "m" });
  expect(reservation?.executeTime).toEqual(at("2027-03-10T00:00:00Z"));
  expect(reservation?.lastChange).toBeUndefined();
  const last = await move("2028-02-29T23:59:59.999+09:00");
  expect(last.reservation?.executeTime).toEqual(at("2028-02-29T23:59:59.999+09:00"));
});

test("a lengthening lets a reservation move to where its month was too late", async () => {
  await setTime("2026-11-10T00:00:00Z");
  const programId = "longer";
  await server.programs.createProgram({ programId, bulkRules: { requiredApprovalCount: 0 } });
  const name = { programId, reservationId: "l" };
  await server.reservations.createReservation({
    ...name,
    userId: "l",
    points: 5n,
    executeTime: at("2027-03-10T00:00:00Z"),
    expiry: month("2028-02"),
  });
  const move = () =>
    server.reservations.rescheduleReservation({ ...name, executeTime: at("2027-01-10T00:00:00Z") });
  expect(await reasonOf(move())).toBe("LIMIT_EXCEEDED");
  await server.programs.updateProgram({ program: { programId, lifetimeMonths: 14 } });
  expect((await move()).reservation?.state).toBe(State.PENDING);
});

test("the time that it has changes nothing, also when its month is over", async () => {
  await setTime("2026-11-10T00:00:00Z");
  await reserve("same", "2026-11-09T00:00:00Z", month("2026-11"));
  await setTime("2026-12-10T00:00:00Z");
  const same = { reservationId: "same", executeTime: at("2026-11-09T00:00:00Z") };
  const { reservation } = await server.reservations.rescheduleReservation(same);
  expect(reservation?.state).toBe(State.PROCESSING);
});

test("a forecast has the end of reserved points, and not what would be refused", async () => {
  await setTime("2026-11-10T00:00:00Z");
  const of = { userId: "f", points: 5n, executeTime: at("2026-12-10T00:00:00Z") };
  for (const [reservationId, expiry] of [
    ["f1", month("2027-01")],
    ["f2", after(1)],
  ] as const) {
    await server.reservations.createReservation({ ...of, reservationId, expiry });
  }
  // It is due, but was not granted in its month.
  const past = { executeTime: at("2026-10-10T00:00:00Z"), allowPastExecuteTime: true };
  const over = { ...of, reservationId: "f3", ...past };
  await setTime("2026-10-20T00:00:00Z");
  await server.reservations.createReservation({ ...over, expiry: month("2026-10") });
  await setTime("2026-11-10T00:00:00Z");
  const time = at("2027-03-01T00:00:00Z");
  const { forecast } = await server.points.getForecast({ userId: "f", time });
  expect(
    forecast?.changes.map(({ time, points, reservationId, availablePoints }) => [
      time && timestampDate(time).toISOString().slice(0, 10),
      points,
      reservationId,
      availablePoints,
    ]),
  ).toEqual([
    ["2026-12-10", 5n, "f1", 5n],
    ["2026-12-10", 5n, "f2", 10n],
    ["2026-12-31", -5n, "", 5n],
    ["2027-01-31", -5n, "", 0n],
  ]);
});
