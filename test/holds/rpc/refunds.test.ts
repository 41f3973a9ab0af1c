/** Tests that captured points are refunded as used ones are: by months, and at most once in sum. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  EventOrigin,
  type LedgerEntry,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy as Policy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { at, reasonOf, refusalOf, toRefusal } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const setTime = (text: string) => server.clock.setTime({ time: at(text) });

/** 30 points of January and 40 of February are held, then captured in parts of 20 and 35. */
async function prepare(userId: string): Promise<void> {
  await setTime("2026-01-10T00:00:00Z");
  await server.points.grantPoints({ userId, eventId: "g1", points: 30n });
  await setTime("2026-02-10T00:00:00Z");
  await server.points.grantPoints({ userId, eventId: "g2", points: 40n });
  const hold = { userId, holdId: userId };
  const until = timestampFromMs(Date.now() + 3_600_000);
  await server.holds.holdPoints({ ...hold, points: 70n, until });
  const first = { ...hold, eventId: "a", points: 20n, moreCapturesFollow: true };
  await server.holds.capturePoints(first);
  await server.holds.capturePoints({ ...hold, eventId: "b", points: 35n });
}

const refund = (userId: string, eventId: string, capture: string, more: object = {}) =>
  server.points.refundPoints({
    ...{ userId, eventId, useEventId: capture, holdId: userId },
    expiredPointsPolicy: Policy.ORIGINAL_EXPIRY,
    ...more,
  });

async function refundedOf(holdId: string): Promise<bigint[]> {
  const { captures } = await server.holds.getHold({ holdId });
  return captures.map(({ refundedPoints }) => refundedPoints);
}

test("points of a capture return to the months that it took, newest first", async () => {
  await prepare("aoi");
  const part = await refund("aoi", "r1", "b", { points: 30n, cause: "return-1" });
  expect(lineOf(part.entry as LedgerEntry)).toBe("7 REFUNDED 30 (01:5 02:25) 45");
  expect(part.entry).toMatchObject({
    event: { origin: EventOrigin.CALLER, eventId: "r1" },
    relatedEvent: { origin: EventOrigin.HOLD, eventId: "aoi/capture/b" },
    cause: "return-1",
  });
  expect(await refundedOf("aoi")).toEqual([0n, 30n]);
  const rest = await refund("aoi", "r2", "b");
  expect(lineOf(rest.entry as LedgerEntry)).toBe("8 REFUNDED 5 (01:5) 50");
  expect(await reasonOf(refund("aoi", "r3", "b"))).toBe("LIMIT_EXCEEDED");
  const tooMuch = await refusalOf(refund("aoi", "r3", "a", { points: 21n }));
  expect(tooMuch).toMatchObject({ metadata: { refundable_points: "20" } });
  await refund("aoi", "r3", "a");
  expect(await refundedOf("aoi")).toEqual([20n, 35n]);
  const { balance } = await server.points.getBalance({ userId: "aoi" });
  expect(balance?.buckets.map(({ month, points }) => [month, points])).toEqual([
    ["2026-01", 30n],
    ["2026-02", 40n],
  ]);
  expect((await server.points.verifyAccount({ userId: "aoi" })).differences).toEqual([]);
});

test("a refund counts once, and of two that exceed the capture one is refused", async () => {
  await prepare("bo");
  const first = await refund("bo", "r", "a", { points: 15n });
  expect(await refund("bo", "r", "a", { points: 15n })).toEqual({ ...first, replayed: true });
  expect(await reasonOf(refund("bo", "r", "b", { points: 15n }))).toBe("ID_REUSED");
  // The same event id of a use is another request.
  expect(await reasonOf(refund("bo", "r", "a", { points: 15n, holdId: undefined }))).toBe(
    "ID_REUSED",
  );
  const both = await Promise.all(
    ["r1", "r2"].map((id) =>
      refund("bo", id, "b", { points: 20n }).then(
        () => "refunded",
        (error) => toRefusal(error).reason,
      ),
    ),
  );
  expect(both.sort()).toEqual(["LIMIT_EXCEEDED", "refunded"]);
  expect(await refundedOf("bo")).toEqual([15n, 20n]);
});

test("refusals, and a dry run, change nothing", async () => {
  await prepare("cho");
  await server.points.usePoints({ userId: "cho", eventId: "use", points: 1n });
  await server.points.freezeAccount({ userId: "frozen", eventId: "f" });
  const before = await dump(server);
  expect(await reasonOf(refund("cho", "r", "c"))).toBe("LEDGER_ENTRY_NOT_FOUND");
  expect(await reasonOf(refund("cho", "r", "use"))).toBe("LEDGER_ENTRY_NOT_FOUND");
  expect(await reasonOf(refund("cho", "r", "a", { holdId: "none" }))).toBe("HOLD_NOT_FOUND");
  expect(await reasonOf(refund("else", "r", "a", { holdId: "cho" }))).toBe("HOLD_NOT_FOUND");
  expect(await reasonOf(refund("cho", "r", "a", { holdId: undefined }))).toBe(
    "LEDGER_ENTRY_NOT_FOUND",
  );
  const validated = await refund("cho", "r", "a", { validateOnly: true });
  expect(await dump(server)).toEqual(before);
  expect(await refund("cho", "r", "a")).toEqual(validated);
  await server.points.freezeAccount({ userId: "cho", eventId: "f" });
  expect(await reasonOf(refund("cho", "r2", "b"))).toBe("ACCOUNT_FROZEN");
});
