/** Tests that grants between the reads of a forecast are neither lost nor counted twice. */
import { expect, test } from "vitest";
import type { Reader } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { getForecast } from "../../../src/reservations/use-cases/forecast.ts";
import { execute } from "../../support/fixtures/failed-reservation.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const userId = "u";
const account = { programId, userId };

async function setUp() {
  const { deps, store } = memoryDeps();
  const lifetimes = [{ lifetimeMonths: 36, effectiveTime: 0 }];
  store.force(programRef(programId), { programId, timeZone: "UTC", lifetimes, createTime: 0 });
  const caller = asService("tests");
  const about = { ...account, reason: "" };
  const granted = { eventId: "g", points: 1, deadline: undefined };
  await grantPoints(deps, { ...about, ...granted, caller });
  for (const reservationId of ["r-1", "r-2"]) {
    const reserved = { reservationId, points: 10, executeTime: 0, allowPastExecuteTime: true };
    await createReservation(deps, { ...about, ...reserved, caller });
  }
  const { calendar } = await deps.clock.now();
  /** Forecasts while r-1 is granted just before a read of `operation`. */
  const forecastWhile = async (operation: "get" | "many") => {
    let isGranted = false;
    const racing: Reader = {
      ...deps.reader,
      [operation]: async (wanted: never) => {
        isGranted = true;
        await execute(deps, { ...account, reservationId: "r-1" });
        return deps.reader[operation](wanted) as never;
      },
    };
    const found = await getForecast({ ...deps, reader: racing }, account, calendar, {});
    expect(isGranted).toBe(true);
    return found;
  };
  return { deps, store, calendar, forecastWhile };
}

test("one that is granted before the account is read is in its balance only", async () => {
  const { forecastWhile } = await setUp();
  const {
    currentAvailablePoints: currentBalance,
    changes,
    availablePoints: balance,
  } = await forecastWhile("get");
  expect(changes.map(({ reservationId }) => reservationId)).toEqual(["r-2"]);
  expect([currentBalance, balance]).toEqual([11, 21]);
});

test("one that is granted after the account is read is still to come", async () => {
  const { forecastWhile } = await setUp();
  const {
    currentAvailablePoints: currentBalance,
    changes,
    availablePoints: balance,
  } = await forecastWhile("many");
  expect(changes.map(({ reservationId }) => reservationId)).toEqual(["r-1", "r-2"]);
  expect([currentBalance, balance]).toEqual([1, 21]);
});

test("more than 1,000 pending reservations are refused", async () => {
  const { deps, store, calendar } = await setUp();
  const { value: row } = (await deps.reader.get(reservationRef(programId, "r-1"))) ?? {};
  if (!row) expect.unreachable();
  for (let i = 0; i < 999; i++) {
    const reservationId = `more-${i}`;
    store.force(reservationRef(programId, reservationId), { ...row, reservationId });
  }
  await expect(getForecast(deps, account, calendar, {})).rejects.toMatchObject({
    reason: "LIMIT_EXCEEDED",
  });
  // Those that are due later do not count.
  const later = { ...row, reservationId: "more-0", executeTime: calendar + 1_000 };
  store.force(reservationRef(programId, "more-0"), later);
  const { changes } = await getForecast(deps, account, calendar, {});
  expect(changes).toHaveLength(1_000);
});
