/** Tests balances of the past through the API: what they show and when they are refused. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Balance } from "../../../src/gen/meguri/points/v1/balance_pb.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
const programId = "past";
const program = { programId, timeZone: "UTC", lifetimeMonths: 3 };
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2028-01-01T00:00:00Z") });
  await server.programs.createProgram(program);
});
afterAll(() => server.stop());

const asOf = async (userId: string, time: string) => {
  const { balance } = await server.points.getBalance({ programId, userId, asOf: at(time) });
  return balance as Balance;
};

test("shows buckets, totals and the frozen flag of that instant, without a version", async () => {
  const account = { programId, userId: "whole" };
  await server.clock.setTime({ time: at("2028-01-10T00:00:00Z") });
  await server.points.grantPoints({ ...account, eventId: "g", points: 100n });
  await server.clock.setTime({ time: at("2028-01-20T00:00:00Z") });
  await server.points.usePoints({ ...account, eventId: "u", points: 30n });
  await server.points.freezeAccount({ ...account, eventId: "f" });
  await server.clock.setTime({ time: at("2028-02-01T00:00:00Z") });
  await server.points.unfreezeAccount({ ...account, eventId: "n" });
  const before = await asOf("whole", "2028-01-19T23:59:59.999Z");
  const bucket = { month: "2028-01", points: 100n };
  expect(before).toMatchObject({
    availablePoints: 100n,
    buckets: [bucket],
    nextExpiring: bucket,
    totals: { issuedPoints: 100n, usedPoints: 0n },
    frozen: false,
    version: 0n,
  });
  const after = await asOf("whole", "2028-01-20T00:00:00Z");
  expect(after).toMatchObject({ availablePoints: 70n, frozen: true });
  expect(after.totals).toMatchObject({ issuedPoints: 100n, usedPoints: 30n });
  const { version: _, ...now } = (await server.points.getBalance(account)).balance as Balance;
  expect(await asOf("whole", "2028-02-01T00:00:00Z")).toMatchObject(now);
});

test("is empty before the first entry and for an unknown account", async () => {
  await server.clock.setTime({ time: at("2028-02-10T00:00:00Z") });
  for (const userId of ["whole", "unknown"]) {
    const empty = await asOf(userId, "1970-01-01T00:00:01Z");
    expect(empty).toMatchObject({ availablePoints: 0n, buckets: [], frozen: false });
    expect(empty.nextExpiring).toBeUndefined();
    expect(empty.totals?.issuedPoints).toBe(0n);
  }
});

test("is refused for an instant to come and for an unknown program", async () => {
  await server.clock.setTime({ time: at("2028-02-10T00:00:00Z") });
  await asOf("whole", "2028-02-10T00:00:00Z");
  expect(await refusalOf(asOf("whole", "2028-02-10T00:00:00.001Z"))).toMatchObject({
    reason: "INVALID_REQUEST",
    metadata: { field: "as_of" },
  });
  const request = { programId: "none", userId: "u", asOf: at("2028-01-01T00:00:00Z") };
  expect(await refusalOf(server.points.getBalance(request))).toMatchObject({
    reason: "PROGRAM_NOT_FOUND",
  });
});
