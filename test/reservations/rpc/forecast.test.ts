/** Tests the forecast of a balance through the API: expiries, reservations and refusals. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  Forecast_Change_Cause as Cause,
  type Forecast,
} from "../../../src/gen/meguri/points/v1/forecast_pb.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
const programId = "forecast";
const now = "2028-01-10T00:00:00Z";
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at(now) });
  await server.programs.createProgram({ programId, timeZone: "UTC", lifetimeMonths: 3 });
});
afterAll(() => server.stop());

const forecastOf = async (userId: string, time: string) => {
  const { forecast } = await server.points.getForecast({ programId, userId, time: at(time) });
  return forecast as Forecast;
};

const reserve = (userId: string, reservationId: string, time: string, points = 10n) =>
  server.reservations.createReservation({
    programId,
    reservationId,
    userId,
    points,
    executeTime: at(time),
    allowPastExecuteTime: true,
  });

const linesOf = ({ changes }: Forecast) =>
  changes.map(({ time, cause, points, reservationId, availablePoints: balance }) => {
    const text = time && timestampDate(time).toISOString().replace(".000Z", "");
    const what = cause === Cause.EXPIRY ? "EXPIRY" : reservationId;
    return `${text} ${what} ${points} ${balance}`;
  });

test("lists expiries and reservations in their order, up to the instant", async () => {
  const userId = "plain";
  await server.points.grantPoints({ programId, userId, eventId: "g", points: 100n });
  await reserve(userId, "p-2", "2028-05-01T00:00:00Z", 20n);
  await reserve(userId, "p-1", "2028-04-01T00:00:00Z", 10n);
  const forecast = await forecastOf(userId, "2028-07-01T00:00:00Z");
  expect(forecast).toMatchObject({
    availablePoints: 20n,
    currentAvailablePoints: 100n,
    frozen: false,
  });
  expect(linesOf(forecast)).toEqual([
    "2028-04-01T00:00:00 EXPIRY -100 0",
    "2028-04-01T00:00:00 p-1 10 10",
    "2028-05-01T00:00:00 p-2 20 30",
    "2028-07-01T00:00:00 EXPIRY -10 20",
  ]);
  expect((await forecastOf(userId, "2028-03-31T23:59:59Z")).changes).toEqual([]);
  expect(linesOf(await forecastOf(userId, "2028-04-01T00:00:00Z"))).toHaveLength(2);
});

test("says that an account is frozen, and counts its reservations all the same", async () => {
  await server.points.freezeAccount({ programId, userId: "frozen", eventId: "f" });
  await reserve("frozen", "z-1", "2028-02-01T00:00:00Z");
  const forecast = await forecastOf("frozen", "2028-03-01T00:00:00Z");
  expect(forecast).toMatchObject({ frozen: true, availablePoints: 10n });
});

test("of an unknown account is empty, and of an unknown program refused", async () => {
  expect(await forecastOf("nobody", now)).toMatchObject({ availablePoints: 0n, changes: [] });
  const call = server.points.getForecast({ programId: "none", userId: "u", time: at(now) });
  expect(await reasonOf(call)).toBe("PROGRAM_NOT_FOUND");
});

test.each(["2028-01-09T23:59:59Z", "2033-01-10T00:00:01Z"])("%s is refused", async (time) => {
  expect(await refusalOf(forecastOf("plain", time))).toMatchObject({
    reason: "INVALID_REQUEST",
    fields: ["time"],
  });
});
