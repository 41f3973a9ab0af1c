/** Tests that months begin in the program's zone, at their first instant, whatever clocks do. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { at } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

let programs = 0;

/** Creates a program with one account. */
async function programIn(timeZone: string, lifetimeMonths: number) {
  const programId = `zone-${++programs}`;
  await server.programs.createProgram({ programId, timeZone, lifetimeMonths });
  const account = { programId, userId: "u" };
  let events = 0;
  return {
    /** Grants a point at an instant and returns its month. */
    async grantAt(time: string): Promise<string> {
      await server.clock.setTime({ time: at(time) });
      const eventId = `e${++events}`;
      const { entry } = await server.points.grantPoints({ ...account, eventId, points: 1n });
      return entry?.monthChanges[0]?.month ?? "";
    },
    async availableAt(time: string): Promise<number> {
      await server.clock.setTime({ time: at(time) });
      return Number((await server.points.getBalance(account)).balance?.availablePoints);
    },
  };
}

describe("the month of a grant", () => {
  test.each([
    ["Asia/Tokyo", "2026-05-31T23:59:59.999+09:00", "2026-06-01T00:00:00.000+09:00"],
    ["UTC", "2026-05-31T23:59:59.999Z", "2026-06-01T00:00:00Z"],
    ["America/New_York", "2026-05-31T23:59:59.999-04:00", "2026-06-01T00:00:00-04:00"],
    ["Asia/Kathmandu", "2026-05-31T23:59:59.999+05:45", "2026-06-01T00:00:00+05:45"],
    ["Pacific/Kiritimati", "2026-05-31T23:59:59.999+14:00", "2026-06-01T00:00:00+14:00"],
  ])("in %s", async (timeZone, last, first) => {
    const { grantAt } = await programIn(timeZone, 12);
    expect(await grantAt(last)).toBe("2026-05");
    expect(await grantAt(first)).toBe("2026-06");
  });

  test("begins at the first of two midnights (Havana, 1 November 2026)", async () => {
    const { grantAt } = await programIn("America/Havana", 12);
    expect(await grantAt("2026-11-01T03:59:59.999Z")).toBe("2026-10");
    expect(await grantAt("2026-11-01T04:00:00.000Z")).toBe("2026-11");
    // The clocks in Havana show 00:30 for the second time.
    expect(await grantAt("2026-11-01T05:30:00.000Z")).toBe("2026-11");
  });
});

describe("the end of points", () => {
  test("in Tokyo at 00:00:00.000 and not a millisecond before", async () => {
    const { grantAt, availableAt } = await programIn("Asia/Tokyo", 1);
    await grantAt("2026-05-10T00:00:00+09:00");
    expect(await availableAt("2026-05-31T23:59:59.999+09:00")).toBe(1);
    expect(await availableAt("2026-06-01T00:00:00.000+09:00")).toBe(0);
  });

  test("across a change to winter time (New York)", async () => {
    const { grantAt, availableAt } = await programIn("America/New_York", 2);
    await grantAt("2026-10-10T00:00:00-04:00");
    expect(await availableAt("2026-12-01T04:59:59.999Z")).toBe(1);
    expect(await availableAt("2026-12-01T05:00:00.000Z")).toBe(0);
  });

  test("where midnight comes twice, at the first (Havana)", async () => {
    const { grantAt, availableAt } = await programIn("America/Havana", 1);
    await grantAt("2026-10-10T12:00:00Z");
    expect(await availableAt("2026-11-01T03:59:59.999Z")).toBe(1);
    expect(await availableAt("2026-11-01T04:00:00.000Z")).toBe(0);
  });

  test("on 29 February", async () => {
    const { grantAt, availableAt } = await programIn("Asia/Tokyo", 1);
    expect(await grantAt("2028-02-29T23:59:59.999+09:00")).toBe("2028-02");
    expect(await availableAt("2028-02-29T23:59:59.999+09:00")).toBe(1);
    expect(await availableAt("2028-03-01T00:00:00.000+09:00")).toBe(0);
  });

  test("a clock that runs back does not turn the ring back", async () => {
    const { grantAt, availableAt } = await programIn("Asia/Tokyo", 1);
    await grantAt("2026-05-10T00:00:00+09:00");
    expect(await grantAt("2026-06-01T00:00:00+09:00")).toBe("2026-06");
    expect(await availableAt("2026-05-20T00:00:00+09:00")).toBe(1);
    expect(await grantAt("2026-05-20T00:00:00+09:00")).toBe("2026-06");
  });
});
