/** Tests holds through gRPC: what they take and return, refusals, and who of two comes first. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Hold_State as State } from "../../../src/gen/meguri/holds/v1/hold_pb.ts";
import { HoldService } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy as Policy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { holdRef } from "../../../src/holds/ports/records.ts";
import type { Hold as StoredHold } from "../../../src/holds/rules/hold.ts";
import { timeOutHold } from "../../../src/holds/use-cases/time-out.ts";
import { inBatches } from "../../../src/platform/ports/pages.ts";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-10T00:00:00Z") });
});
afterAll(() => server.stop());

const day = 86_400_000;
const programId = "default";

/** Of the real clock, by which holds time out. */
const inDays = (days: number) => timestampFromMs(Date.now() + days * day);

/** A user with 100 points. */
async function member(userId: string): Promise<void> {
  await server.points.grantPoints({ userId, eventId: "g", points: 100n });
}

const hold = (userId: string, points = 10n, more: object = {}) =>
  server.holds.holdPoints({ userId, holdId: userId, points, until: inDays(7), ...more });

const capture = (userId: string, eventId: string, points?: bigint, more: object = {}) =>
  server.holds.capturePoints({
    ...{ userId, holdId: userId, eventId },
    ...(points !== undefined && { points }),
    ...more,
  });

const release = (userId: string, more: object = {}) =>
  server.holds.releaseHold({ userId, holdId: userId, ...more });

/** Lets the time of a hold come, and does what a worker does then. */
async function timeOut(userId: string): Promise<string> {
  const name = { programId, holdId: userId };
  await changeRecord(server.deps, { ref: holdRef(name) }, (found) => ({
    ...(found as StoredHold),
    until: Date.now() - 1,
  }));
  const { hold: found, entry } = await timeOutHold(server.deps, { ...name, userId });
  return `${found.state}${entry ? "" : ", unchanged"}`;
}

async function ledgerOf(userId: string): Promise<string[]> {
  const { entries } = await server.points.listLedgerEntries({ userId });
  return entries.toReversed().map(lineOf);
}

async function balanceOf(userId: string) {
  const { balance } = await server.points.getBalance({ userId });
  expect((await server.points.verifyAccount({ userId })).differences).toEqual([]);
  return [Number(balance?.availablePoints), Number(balance?.heldPoints)];
}

describe("a hold", () => {
  test("sets points aside, which are neither available nor in the forecast", async () => {
    await member("aoi");
    const { hold: made, availablePoints, replayed } = await hold("aoi", 40n, { reason: "order" });
    expect([availablePoints, replayed]).toEqual([60n, false]);
    expect(made).toMatchObject({
      ...{ programId, holdId: "aoi", userId: "aoi", points: 40n, state: State.HELD },
      ...{ capturedPoints: 0n, releasedPoints: 0n, entryNumber: 2n, releaseEntryNumber: 0n },
      ...{ reason: "order", creator: { service: "tests" }, capturesLeft: 1_000 },
      expiredPointsPolicy: Policy.ORIGINAL_EXPIRY,
    });
    expect(await balanceOf("aoi")).toEqual([60, 40]);
    const used = server.points.usePoints({ userId: "aoi", eventId: "u", points: 61n });
    expect((await refusalOf(used)).metadata).toEqual({ available_points: "60" });
    const time = at("2026-11-20T00:00:00Z");
    const { forecast } = await server.points.getForecast({ userId: "aoi", time });
    expect([forecast?.availablePoints, forecast?.heldPoints]).toEqual([60n, 40n]);
    expect(server.workflows.calls).toContain("startHold default aoi");
  });

  test("is captured in parts, which take the oldest points first", async () => {
    const account = { programId: "months", userId: "parts" };
    await server.programs.createProgram({ programId: "months", lifetimeMonths: 3 });
    for (const month of ["01", "02"]) {
      await server.clock.setTime({ time: at(`2027-${month}-10T00:00:00Z`) });
      await server.points.grantPoints({ ...account, eventId: month, points: 30n });
    }
    const name = { ...account, holdId: "parts" };
    await server.holds.holdPoints({ ...name, points: 50n, until: inDays(7) });
    const first = { ...name, eventId: "1", points: 20n, moreCapturesFollow: true };
    expect((await server.holds.capturePoints(first)).hold).toMatchObject({
      ...{ state: State.HELD, capturedPoints: 20n, releasedPoints: 0n },
    });
    const second = { ...name, eventId: "2", points: 15n };
    const { hold: ended, availablePoints } = await server.holds.capturePoints(second);
    expect(ended).toMatchObject({
      ...{ state: State.CAPTURED, capturedPoints: 35n, releasedPoints: 15n },
      ...{ releaseEntryNumber: 6n, capturesLeft: 0 },
    });
    expect(availablePoints).toBe(25n);
    const { hold: stored, captures } = await server.holds.getHold(name);
    expect(stored).toEqual(ended);
    const time = at("2027-02-10T00:00:00Z");
    expect(captures).toMatchObject([
      { eventId: "1", points: 20n, entryNumber: 4n, refundedPoints: 0n, createTime: time },
      { eventId: "2", points: 15n, entryNumber: 5n, refundedPoints: 0n, createTime: time },
    ]);
    const { entries } = await server.points.listLedgerEntries(account);
    expect(entries.toReversed().map(lineOf)).toEqual([
      "1 ISSUED 30 (01:30) 30",
      "2 ISSUED 30 (02:30) 60",
      "3 HELD 50 (01:-30 02:-20) 10",
      "4 CAPTURED 20 () 10",
      "5 CAPTURED 15 () 10",
      "6 RELEASED 15 (02:15) 25",
    ]);
  });

  test("takes 1,000 captures, of which the last one ends it", async () => {
    const userId = "many";
    await server.points.grantPoints({ userId, eventId: "g", points: 2_000n });
    await hold(userId, 2_000n);
    const more = { moreCapturesFollow: true };
    const ids = Array.from({ length: 999 }, (_, i) => `c-${i}`);
    for (const batch of inBatches(ids, 100)) {
      await Promise.all(batch.map((id) => capture(userId, id, 1n, more)));
    }
    const left = async () => (await server.holds.getHold({ holdId: userId })).hold?.capturesLeft;
    expect(await left()).toBe(1);
    const { metadata, reason } = await refusalOf(capture(userId, "last", 1n, more));
    expect([reason, metadata]).toEqual(["LIMIT_EXCEEDED", { limit: "1000" }]);
    expect((await capture(userId, "c-3", 1n, more)).replayed).toBe(true);
    const { hold: ended } = await capture(userId, "last", 1n);
    expect(ended).toMatchObject({ state: State.CAPTURED, releasedPoints: 1_000n, capturesLeft: 0 });
    const { captures } = await server.holds.getHold({ holdId: userId });
    expect(captures.map(({ eventId }) => eventId).toSorted()).toEqual([...ids, "last"].toSorted());
    const numbers = captures.map(({ entryNumber }) => Number(entryNumber));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(await balanceOf(userId)).toEqual([1_000, 0]);
  });

  test("ends when nothing is left", async () => {
    const more = { moreCapturesFollow: true };
    await member("all");
    await hold("all");
    expect((await capture("all", "c", 10n, more)).hold?.state).toBe(State.CAPTURED);
  });

  test("has its events in the ledger, by its name", async () => {
    await member("named");
    await hold("named");
    await capture("named", "parcel/1", 4n);
    const entryOf = async (eventId: string) => {
      const event = { origin: EventOrigin.HOLD, eventId };
      const key = { case: "event", value: event } as const;
      const { entry } = await server.points.getLedgerEntry({ userId: "named", key });
      return entry && [Number(entry.number), entry.event?.eventId, entry.relatedEvent?.eventId];
    };
    expect(await entryOf("named")).toEqual([2, "named", undefined]);
    const captured = "named/capture/parcel/1";
    expect(await entryOf(captured)).toEqual([3, captured, "named"]);
    expect(await entryOf("named/release")).toEqual([4, "named/release", "named"]);
    for (const unknown of ["other", "named/capture/x", "aoi"]) {
      expect(await reasonOf(entryOf(unknown))).toBe("LEDGER_ENTRY_NOT_FOUND");
    }
    const grantEvent = { origin: EventOrigin.HOLD, eventId: "named" };
    const revoked = server.points.revokePoints({ userId: "named", eventId: "r", grantEvent });
    expect(await refusalOf(revoked)).toMatchObject({
      reason: "LEDGER_ENTRY_NOT_FOUND",
      message: "there is no grant of the hold named",
    });
  });
});

describe("what comes first wins", () => {
  test("a timeout and then a capture or a release", async () => {
    await member("late");
    await hold("late");
    expect(await timeOut("late")).toBe("EXPIRED");
    for (const refused of [capture("late", "c", 4n), release("late")]) {
      const { reason, metadata } = await refusalOf(refused);
      expect([reason, metadata]).toEqual(["WRONG_STATE", { state: "EXPIRED" }]);
    }
    expect(await timeOut("late")).toBe("EXPIRED, unchanged");
    expect(await balanceOf("late")).toEqual([100, 0]);
  });

  test("a release and then a capture or a timeout", async () => {
    await member("released");
    await hold("released");
    const { availablePoints } = await release("released", { reason: "gone" });
    expect(availablePoints).toBe(100n);
    const { reason, metadata } = await refusalOf(capture("released", "c"));
    expect([reason, metadata]).toEqual(["WRONG_STATE", { state: "RELEASED" }]);
    expect(await timeOut("released")).toBe("RELEASED, unchanged");
    const again = await release("released", { reason: "another" });
    expect(again).toMatchObject({ replayed: true, availablePoints: 100n });
    expect(await balanceOf("released")).toEqual([100, 0]);
    expect(await ledgerOf("released")).toHaveLength(3);
  });

  test("a capture after the time, while nothing was released", async () => {
    await member("slow");
    await hold("slow");
    const ref = holdRef({ programId, holdId: "slow" });
    await changeRecord(server.deps, { ref }, (found) => ({
      ...(found as StoredHold),
      until: Date.now() - 1,
    }));
    expect((await capture("slow", "c", 10n)).hold?.state).toBe(State.CAPTURED);
  });

  test("of all at once, exactly one", async () => {
    await member("race");
    await hold("race");
    const results = await Promise.allSettled([
      capture("race", "c"),
      release("race"),
      timeOut("race").then((state) => {
        if (state.endsWith("unchanged")) throw new Error(state);
      }),
    ]);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [available] = await balanceOf("race");
    expect([90, 100]).toContain(available);
    expect(await ledgerOf("race")).toHaveLength(3);
  });
});

describe("the same again", () => {
  const request = {
    userId: "again",
    points: 10n,
    reason: "order",
    until: inDays(7),
    allowPartial: true,
    expiredPointsPolicy: Policy.CURRENT_MONTH,
    cause: "order-17",
  };
  const others: Record<string, unknown> = {
    userId: "another",
    points: 11n,
    reason: "other",
    until: inDays(8),
    allowPartial: false,
    expiredPointsPolicy: Policy.ORIGINAL_EXPIRY,
    cause: "order-18",
  };

  test("no parameter is left out of these tests", () => {
    const { holdPoints, capturePoints } = HoldService.method;
    const names = holdPoints.input.fields.map(({ localName }) => localName);
    const others = ["programId", "holdId", "validateOnly"];
    expect([...others, ...Object.keys(request)].toSorted()).toEqual(names.toSorted());
    expect(capturePoints.input.fields.map(({ localName }) => localName)).toEqual([
      ...["programId", "userId", "holdId", "eventId", "points", "reason", "moreCapturesFollow"],
      ...["cause", "validateOnly"],
    ]);
  });

  test("answers the hold as it is now, with the points right after it", async () => {
    await member("again");
    await member("another");
    const sent = { ...request, holdId: "again" };
    const first = await server.holds.holdPoints(sent);
    await server.points.usePoints({ userId: "again", eventId: "u", points: 50n });
    await capture("again", "c", 3n);
    const again = await server.holds.holdPoints(sent);
    expect([first.replayed, again.replayed, again.availablePoints]).toEqual([false, true, 90n]);
    expect(again.hold?.state).toBe(State.CAPTURED);
    const other = { ...request, holdId: "again", programId: "no" };
    expect(await reasonOf(server.holds.holdPoints(other))).toBe("PROGRAM_NOT_FOUND");
  });

  test.each(Object.keys(others))("another %s is another hold", async (parameter) => {
    const sent = { ...request, holdId: `h-${parameter}`, points: 1n };
    await server.holds.holdPoints(sent);
    const other = { ...sent, [parameter]: others[parameter] };
    const { reason, metadata } = await refusalOf(server.holds.holdPoints(other));
    // No entry is named: it may be in the ledger of another user.
    expect([reason, metadata]).toEqual(["ID_REUSED", {}]);
    const shop = server.clientsOf("shop").holds.holdPoints(sent);
    expect(await reasonOf(shop)).toBe("ID_REUSED");
  });

  test("answers the capture of the first call; another one is refused", async () => {
    await member("twice");
    await hold("twice", 10n);
    const more = { moreCapturesFollow: true, reason: "parcel" };
    const first = await capture("twice", "c", 4n, more);
    await release("twice");
    const again = await capture("twice", "c", 4n, more);
    expect(again).toMatchObject({ replayed: true, availablePoints: first.availablePoints });
    expect(again.hold).toMatchObject({ state: State.RELEASED, capturedPoints: 4n });
    const differences = [
      ...[{ points: 5n }, { reason: "x" }, { moreCapturesFollow: false }, { cause: "c" }],
    ];
    for (const other of differences) {
      const { points = 4n, ...rest } = { ...more, ...other } as { points?: bigint };
      expect(await reasonOf(capture("twice", "c", points, rest))).toBe("ID_REUSED");
    }
    expect(await reasonOf(capture("twice", "c", undefined, more))).toBe("ID_REUSED");
    expect(await balanceOf("twice")).toEqual([96, 0]);
  });
});

describe("what only is validated", () => {
  test("has the answer that it would get, and changes nothing", async () => {
    await member("dry");
    const only = { validateOnly: true };
    const dry = await hold("dry", 10n, only);
    expect([dry.availablePoints, dry.replayed, dry.entry?.number]).toEqual([90n, false, 2n]);
    expect(await reasonOf(hold("dry", 101n, only))).toBe("INSUFFICIENT_POINTS");
    expect(await reasonOf(capture("dry", "c"))).toBe("HOLD_NOT_FOUND");
    await hold("dry", 10n);
    const captured = await capture("dry", "c", 4n, only);
    expect(captured.hold).toMatchObject({ state: State.CAPTURED, releasedPoints: 6n });
    expect((await release("dry", only)).hold?.state).toBe(State.RELEASED);
    expect(await balanceOf("dry")).toEqual([90, 10]);
    expect(await ledgerOf("dry")).toHaveLength(2);
    const calls = server.workflows.calls.filter((call) => call.endsWith(" dry"));
    expect(calls).toEqual(["startHold default dry"]);
  });
});

test("causes are those of each event, and the hold has that of its own", async () => {
  await member("why");
  const { hold: made } = await hold("why", 10n, { cause: "order-1" });
  expect(made?.cause).toBe("order-1");
  await capture("why", "c", 4n, { cause: "parcel-1" });
  const { entries } = await server.points.listLedgerEntries({ userId: "why" });
  expect(entries.map(({ cause }) => cause)).toEqual(["parcel-1", "parcel-1", "order-1", ""]);
});

describe("is refused", () => {
  test("a capture of more than is held, with what is left", async () => {
    await member("over");
    await hold("over", 10n);
    await capture("over", "1", 4n, { moreCapturesFollow: true });
    const { reason, metadata } = await refusalOf(capture("over", "2", 7n));
    expect([reason, metadata]).toEqual(["LIMIT_EXCEEDED", { capturable_points: "6" }]);
    expect((await capture("over", "2", 6n)).hold?.state).toBe(State.CAPTURED);
  });

  test("an unknown hold, and that of another user", async () => {
    await member("owner");
    await member("thief");
    await hold("owner");
    const name = { userId: "thief", holdId: "owner" };
    for (const refused of [
      server.holds.capturePoints({ ...name, eventId: "c" }),
      server.holds.releaseHold(name),
      server.holds.getHold({ holdId: "unknown" }),
      release("nobody"),
    ]) {
      expect(await reasonOf(refused)).toBe("HOLD_NOT_FOUND");
    }
  });

  test("a hold and a capture by a frozen account, but no release and no timeout", async () => {
    for (const userId of ["cold-1", "cold-2"]) {
      await member(userId);
      await hold(userId);
      await server.points.freezeAccount({ userId, eventId: "f" });
      expect(await reasonOf(hold(userId, 1n, { holdId: `${userId}-b` }))).toBe("ACCOUNT_FROZEN");
      expect(await reasonOf(capture(userId, "c"))).toBe("ACCOUNT_FROZEN");
    }
    expect((await release("cold-1")).hold?.state).toBe(State.RELEASED);
    expect(await timeOut("cold-2")).toBe("EXPIRED");
    expect(await balanceOf("cold-2")).toEqual([100, 0]);
  });
});

test("the holds of an account are listed by state, latest until first", async () => {
  await member("list");
  for (const days of [1, 2, 3, 4]) {
    await hold("list", 1n, { holdId: `l-${days}`, until: inDays(days) });
  }
  await server.holds.releaseHold({ userId: "list", holdId: "l-2" });
  await server.holds.capturePoints({ userId: "list", holdId: "l-3", eventId: "c" });
  const list = async (state: State, pageSize = 0) => {
    const found: string[] = [];
    let pageToken = "";
    do {
      const page = await server.holds.listHolds({ userId: "list", state, pageSize, pageToken });
      found.push(...page.holds.map(({ holdId }) => holdId));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return found;
  };
  await eventually(async () =>
    expect(await list(State.UNSPECIFIED)).toEqual(["l-4", "l-3", "l-2", "l-1"]),
  );
  expect(await list(State.UNSPECIFIED, 1)).toEqual(["l-4", "l-3", "l-2", "l-1"]);
  expect(await list(State.HELD, 1)).toEqual(["l-4", "l-1"]);
  expect(await list(State.RELEASED)).toEqual(["l-2"]);
  expect(await list(State.CAPTURED)).toEqual(["l-3"]);
  expect(await list(State.EXPIRED)).toEqual([]);
});
