/** Tests the clocks of a process, also with a local clock that is wrong, on a real store. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, inject, test, vi } from "vitest";
import type { Reader } from "../../../src/hub/deps.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createSystemClock, createTestClock } from "../../../src/platform/work/clocks.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { reserve } from "../../support/fixtures/reservations.ts";
import { startProcess } from "../../support/models/fault-workload.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";

const region = "ap-northeast-1";
const realNow = Date.now.bind(Date);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Puts the local clock ahead by `ms`; the store's stays right. */
const shiftClock = (ms: number) => vi.spyOn(Date, "now").mockImplementation(() => realNow() + ms);

describe("with a skew that is known", () => {
  const skew = (skewMs: number, offsetMs: number) => ({
    skewMs: () => skewMs,
    offsetMs: () => offsetMs,
  });

  test("both times of the system clock are corrected", async () => {
    vi.spyOn(Date, "now").mockReturnValue(1_000_000);
    const now = await createSystemClock(skew(4_400, -4_420)).now();
    expect(now).toEqual({ calendar: 995_580, wall: 995_580 });
  });

  test.each([5_000.5, -5_000.5])("a proven skew of %d ms is refused", async (ms) => {
    await expect(createSystemClock(skew(ms, -ms)).now()).rejects.toMatchObject({
      reason: "CLOCK_OFF",
      metadata: { skew_ms: String(Math.trunc(ms)) },
    });
    await createSystemClock(skew(Math.trunc(ms), -ms)).now();
  });

  test("the test clock sets the calendar only", async () => {
    vi.spyOn(Date, "now").mockReturnValue(1_000_000);
    const reading = (time?: number) => {
      const get = async () => (time === undefined ? undefined : { value: { time }, version: 1 });
      return createTestClock({ get } as unknown as Reader, skew(4_400, -4_420)).now();
    };
    expect(await reading(5)).toEqual({ calendar: 5, wall: 995_580 });
    expect(await reading()).toEqual({ calendar: 995_580, wall: 995_580 });
  });
});

describe("a local clock that is wrong by 4.5 s", () => {
  const endpoint = inject("dynamodbEndpoint");

  test.each([
    ["ahead", 4_500],
    ["behind", -4_500],
  ])("%s: is never ahead of the store's, and soon right", async (_, ms) => {
    shiftClock(ms);
    const clients = createClients({ endpoint, region });
    const clock = createSystemClock(clients);
    const requestAndCompare = async () => {
      await clients.single.send(new ListTablesCommand({}));
      const { wall } = await clock.now();
      const difference = wall - realNow();
      expect(difference).toBeLessThanOrEqual(0);
      return difference;
    };
    // Each start of a second that falls between two requests makes the estimate better.
    while ((await requestAndCompare()) < -100) await sleep(10);
    clients.close();
  });

  test("ahead: grants no reservation before its time", async () => {
    const names = tableName(`t-${randomUUID().slice(0, 8)}-`);
    const clients = createClients({ endpoint, region });
    await createTables(clients.retrying, localTableDefinitions(names));
    const { deps, close } = startProcess(endpoint, names);
    const program = { programId: "p", timeZone: "UTC", lifetimeMonths: 12 };
    await createProgram(deps, program);
    const { reservation } = await reserve(deps, "p", { id: "r", inMs: 3_000 });
    shiftClock(4_500);
    const attempt = { programId: "p", reservationId: "r", userId: "r" };
    const attemptNow = async () => (await executeReservation(deps, attempt)).outcome;
    expect(await attemptNow()).toBe("WAIT");
    while ((await attemptNow()) === "WAIT") await sleep(10);
    expect(realNow()).toBeGreaterThanOrEqual(reservation.executeTime);
    expect(await attemptNow()).toBe("DONE");
    close();
    await deleteTables(clients.retrying, names);
    clients.close();
  });
});
