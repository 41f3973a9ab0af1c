/** Tests what a comparison of restored tables makes of holds whose tables are of two moments. */
import { expect, test } from "vitest";
import { holdRef } from "../../src/holds/ports/records.ts";
import { captureEvent, type Hold } from "../../src/holds/rules/hold.ts";
import { capturePoints, holdPoints, releaseHold } from "../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../src/holds/use-cases/refund.ts";
import { timeOutHold } from "../../src/holds/use-cases/time-out.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../src/points/ports/records.ts";
import { eventName } from "../../src/points/rules/ledger.ts";
import {
  balance,
  createAccountFixture,
  differences,
  grant,
  programId,
  userId,
} from "../support/fixtures/account-fixture.ts";
import { compareAll, recordHistory, recordsAt, restore } from "../support/models/restore-drill.ts";
import type { MemoryDeps } from "../support/stores/memory-store.ts";

const day = 86_400_000;
const nameOf = (holdId: string) => ({
  programId,
  userId,
  holdId,
  reason: "why",
  caller: asService("shop"),
});

const hold = (deps: Deps, holdId: string, points: number, until: number) =>
  holdPoints(deps, {
    ...{ ...nameOf(holdId), points, until, allowPartial: false },
    expiredPointsPolicy: "ORIGINAL_EXPIRY",
  });

const capture = (
  deps: Deps,
  holdId: string,
  eventId: string,
  points: number | undefined,
  moreFollow = false,
) => capturePoints(deps, { ...nameOf(holdId), eventId, points, moreFollow });

const release = (deps: Deps, holdId: string) => releaseHold(deps, nameOf(holdId));

const refund = (deps: Deps, id: string, holdId: string, useEventId: string, points?: number) =>
  refundPoints(deps, {
    ...{ ...nameOf(holdId), eventId: id, useEventId, points },
    deadline: undefined,
    expiredPointsPolicy: "ORIGINAL_EXPIRY",
  });

const recordOf = async (deps: Deps, holdId: string): Promise<Hold | undefined> =>
  (await deps.reader.get(holdRef({ programId, holdId })))?.value;

const captureKey = (holdId: string, eventId: string) =>
  eventRef(programId, userId, eventName(captureEvent(holdId, eventId)));

const linesOf = async (memory: MemoryDeps, repair: boolean) =>
  (await compareAll(memory, repair)).map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`);

/** One hold for each end, over the end of a month in which points of the first two expire. */
async function play({ deps, clock }: MemoryDeps): Promise<void> {
  const start = clock.time;
  await grant(deps, "g", 100);
  for (const holdId of ["captured", "released", "due", "all", "more"]) {
    await hold(deps, holdId, 10, start + 40 * day);
  }
  await capture(deps, "captured", "one", 3, true);
  await capture(deps, "more", "one", 4, true);
  await refund(deps, "r", "more", "one", 1);
  clock.time = start + 30 * day;
  await grant(deps, "h", 50);
  await capture(deps, "captured", "two", 5);
  await refund(deps, "s", "captured", "two");
  await refund(deps, "t", "more", "one", 2);
  await release(deps, "released");
  await capture(deps, "all", "one", undefined);
  clock.time = start + 40 * day;
  await timeOutHold(deps, nameOf("due"));
}

/** What no ledger has of a hold. */
const known = ({ until: _, hash: _hash, updateTime: _time, ...rest }: Hold) => rest;

const holdsOf = ({ store }: MemoryDeps) =>
  store
    .stored()
    .filter(({ ref }) => ref.kind === "hold")
    .map(({ value }) => known(value as Hold))
    .sort((a, b) => (a.holdId < b.holdId ? -1 : 1));

test("whatever the moments of two tables, the records are those of the ledger", async () => {
  const original = createAccountFixture(1);
  const history = recordHistory(original);
  await play(original);
  const count = history.snapshots.length;
  const at = (points: number, reservations: number) => {
    const moments = {
      accounts: points,
      points,
      reservations,
      bulk: 0,
      reactions: 0,
      notifications: 0,
      acts: 0,
      events: 0,
    };
    return restore(
      history,
      recordsAt(history, moments, () => false),
      original.clock.time,
    );
  };
  const kinds = new Set<string>();
  for (let points = 0; points < count; points++) {
    const wanted = holdsOf(await at(points, points));
    for (let reservations = 0; reservations < count; reservations++) {
      const restored = await at(points, reservations);
      for (const line of await linesOf(restored, true)) kinds.add(line.replace(/ .* /, " "));
      expect(holdsOf(restored), `${points}, ${reservations}`).toEqual(wanted);
      expect(await linesOf(restored, false)).toEqual([]);
    }
  }
  expect([...kinds].sort()).toEqual(["HOLD_DIFFERS MENDED", "HOLD_LOST MENDED"]);
});

test("a hold whose record is lost is captured and released as before, each once", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  const until = clock.time + day;
  await hold(deps, "h", 10, until);
  await capture(deps, "h", "one", 3, true);
  await hold(deps, "all", 10, until);
  await capture(deps, "all", "one", undefined);
  for (const holdId of ["h", "all"]) store.force(holdRef({ programId, holdId }), undefined);
  expect(await linesOf(fixture, false)).toEqual(["HOLD_LOST p/h FOUND", "HOLD_LOST p/all FOUND"]);
  await compareAll(fixture, true);
  const again = fixture.process();
  await expect(hold(again, "h", 10, until)).rejects.toMatchObject({ reason: "ID_REUSED" });
  expect(await capture(again, "h", "one", 3, true)).toMatchObject({ replayed: true });
  expect(await capture(again, "all", "one", undefined)).toMatchObject({ replayed: true });
  await expect(capture(again, "h", "one", 4, true)).rejects.toMatchObject({ reason: "ID_REUSED" });
  expect(await release(again, "h")).toMatchObject({ replayed: false, entry: { points: 7 } });
  expect(await balance(again)).toBe(87);
  expect(await differences(again)).toEqual([]);
});

test("a capture whose hold is lost, or older, is refunded once", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  await capture(deps, "h", "one", 6, true);
  const before = await recordOf(deps, "h");
  await refund(deps, "r", "h", "one", 4);
  const ref = holdRef({ programId, holdId: "h" });
  for (const record of [undefined, before]) {
    store.force(ref, record);
    await compareAll(fixture, true);
    expect(await recordOf(deps, "h")).toMatchObject({ capturedPoints: 6, captureCount: 1 });
    const again = refund(fixture.process(), "s", "h", "one", 3);
    await expect(again).rejects.toMatchObject({ metadata: { refundable_points: "2" } });
  }
});

test("a refund of a capture whose key is lost is answered as before", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  await capture(deps, "h", "one", 6);
  await refund(deps, "r", "h", "one", 4);
  await refund(deps, "s", "h", "one");
  for (const id of ["r", "s"]) store.force(eventRef(programId, userId, `c:${id}`), undefined);
  expect(await linesOf(fixture, true)).toEqual([
    "EVENT_KEY_LOST p/u c:r MENDED",
    "EVENT_KEY_LOST p/u c:s MENDED",
  ]);
  const again = fixture.process();
  expect(await refund(again, "r", "h", "one", 4)).toMatchObject({ replayed: true });
  expect(await refund(again, "s", "h", "one")).toMatchObject({ replayed: true });
  await expect(refund(again, "r", "h", "two", 4)).rejects.toMatchObject({ reason: "ID_REUSED" });
});

test("the lost key of a capture is written again, with the months of its points", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 10);
  clock.time += 31 * day;
  await grant(deps, "h", 10);
  await hold(deps, "h", 20, clock.time + day);
  await capture(deps, "h", "one", 6, true);
  await capture(deps, "h", "two", 8);
  await refund(deps, "r", "h", "two", 3);
  const refs = ["one", "two"].map((id) => captureKey("h", id));
  const before = await deps.reader.many(refs);
  expect(before).toMatchObject([
    { earlierPoints: 0, availablePoints: 0, reversedPoints: 0 },
    { earlierPoints: 6, availablePoints: 6, reversedPoints: 3 },
  ]);
  for (const ref of refs) store.force(ref, undefined);
  expect(await linesOf(fixture, true)).toEqual([
    "EVENT_KEY_LOST p/u h:h/capture/one MENDED",
    "EVENT_KEY_LOST p/u h:h/capture/two MENDED",
  ]);
  expect(await deps.reader.many(refs)).toEqual(before);
  const again = fixture.process();
  expect(await capture(again, "h", "two", 8)).toMatchObject({ replayed: true, availablePoints: 6 });
  // Four points of the first month are after the six of the first capture.
  const rest = await refund(again, "s", "h", "two");
  expect(rest.entry.changes.map(({ points }) => points)).toEqual([4, 1]);
});

test("a lost entry of a capture is restored from its key, and a wrong key mended", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  await capture(deps, "h", "one", 3, true);
  const ref = captureKey("h", "one");
  const before = (await deps.reader.get(ref))?.value;
  await refund(deps, "r", "h", "one", 2);
  store.force(ref, before);
  store.force(entryRef(programId, userId, 3), undefined);
  expect(await linesOf({ ...fixture, deps: fixture.process() }, true)).toEqual([
    "ACCOUNT_DIFFERS p/u MENDED",
    "EVENT_KEY_DIFFERS p/u h:h/capture/one MENDED",
  ]);
  expect((await deps.reader.get(ref))?.value).toMatchObject({ reversedPoints: 2 });
  expect(await differences(fixture.process())).toEqual([]);
});

test("a hold that the ledger does not have is deleted, and can be made again", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock, stored } = fixture;
  await grant(deps, "g", 100);
  const before = await stored();
  await hold(deps, "h", 10, clock.time + day);
  store.force(accountRef(programId, userId), before);
  store.force(entryRef(programId, userId, 2), undefined);
  const again = fixture.process();
  expect(await compareAll({ ...fixture, deps: again }, true)).toEqual([
    {
      ...{ kind: "HOLD_DIFFERS", name: "p/h", outcome: "MENDED" },
      detail: "HELD, 10 of 10 points held, 0 captured for u; not in the ledger",
    },
  ]);
  expect(await recordOf(again, "h")).toBeUndefined();
  expect(await hold(again, "h", 10, clock.time + day)).toMatchObject({ replayed: false });
});

test("records are left beside a ledger that has a gap", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  await capture(deps, "h", "one", 3, true);
  await hold(deps, "i", 10, clock.time + day);
  await capture(deps, "i", "two", 3, true);
  // An entry and its copy, and the key of another capture.
  store.force(entryRef(programId, userId, 3), undefined);
  store.force(captureKey("h", "one"), undefined);
  store.force(captureKey("i", "two"), undefined);
  store.force(holdRef({ programId, holdId: "i" }), undefined);
  expect(await linesOf({ ...fixture, deps: fixture.process() }, true)).toEqual([
    "ACCOUNT_DIFFERS p/u REFUSED",
    "EVENT_KEY_LOST p/u h:i/capture/two REFUSED",
    "HOLD_DIFFERS p/h REFUSED",
    "HOLD_LOST p/i REFUSED",
  ]);
  expect(await recordOf(deps, "h")).toMatchObject({ state: "HELD", capturedPoints: 3 });
});

test("a hold that is twice in the ledger is left to people", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  store.force(holdRef({ programId, holdId: "h" }), undefined);
  await hold(fixture.process(), "h", 10, clock.time + day);
  const lines = ["HOLD_DIFFERS p/h FOUND"];
  expect(await linesOf({ ...fixture, deps: fixture.process() }, true)).toEqual(lines);
});

test("a record that names another entry is left to people", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  const record = (await recordOf(deps, "h")) as Hold;
  store.force(holdRef({ programId, holdId: "h" }), { ...record, entryNumber: 1 });
  expect(await linesOf(fixture, true)).toEqual(["HOLD_DIFFERS p/h FOUND"]);
});

test("a hold of a program that does not exist is named", async () => {
  const fixture = createAccountFixture();
  const { deps, store, clock } = fixture;
  await grant(deps, "g", 100);
  await hold(deps, "h", 10, clock.time + day);
  store.force(programRef(programId), undefined);
  expect((await linesOf(fixture, true)).sort()).toEqual([
    "PROGRAM_LOST p/h FOUND",
    "PROGRAM_LOST p/u FOUND",
  ]);
});
