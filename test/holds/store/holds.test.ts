/** Tests the records of holds: they come back, stay small, and are listed. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { holdRef } from "../../../src/holds/ports/records.ts";
import { captureEvent, type Hold, holdEvent, maxCaptures } from "../../../src/holds/rules/hold.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { maxPoints } from "../../../src/platform/words/units.ts";
import { eventRef } from "../../../src/points/ports/records.ts";
import { type EventKey, eventName } from "../../../src/points/rules/ledger.ts";
import { maxBalance } from "../../../src/points/rules/points.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, write } from "../../support/stores/records.ts";

const newProgram = () => `p-${randomUUID().slice(0, 23)}`;

const hold = (programId: string, holdId: string, more: Partial<Hold> = {}): Hold => ({
  ...{ programId, holdId, userId: "u", hash: "1:x", reason: "", creator: asService("shop") },
  months: [{ month: 24_322, points: 10 }],
  until: 1_790_000_000_000,
  expiredPointsPolicy: "ORIGINAL_EXPIRY",
  state: "HELD",
  createTime: 1_780_000_000_000,
  updateTime: 1_780_000_000_000,
  heldTime: 1_780_000_000_000,
  entryNumber: 2,
  availablePoints: 0,
  capturedPoints: 0,
  captureCount: 0,
  ...more,
});

const late = 253_402_300_799_999;

/** The key of a capture, with texts as long as they may be. */
const largestCapture: EventKey = {
  hash: `1:${"h".repeat(43)}`,
  availablePoints: maxBalance,
  reversedPoints: maxPoints - 1,
  earlierPoints: maxPoints - 1,
  entry: {
    ...{ number: 999_999_999_999, type: "CAPTURED", event: captureEvent("h", "e") },
    ...{ createTime: late, effectiveTime: late, points: maxPoints },
    ...{ changes: [], total: "capturedPoints", frozen: false, availablePoints: maxBalance },
    ...{ reason: "r".repeat(128), cause: "c".repeat(128) },
    caller: { service: "s".repeat(64), subject: "s".repeat(128) },
    relatedEvent: holdEvent("i".repeat(64)),
  },
};

const ended = { points: maxPoints, entryNumber: 999_999_999_999, availablePoints: maxBalance };

describe("records and lists", () => {
  test("holds come back as they were written", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const all = [
      hold(p, "a"),
      hold(p, "!".repeat(64), {
        ...{ userId: "~".repeat(64), reason: "理由", cause: "order-1" },
        creator: { service: "desk", subject: "yuki" },
        heldTime: 1_780_000_000_001,
        months: [
          { month: 24_300, points: 1 },
          { month: 24_335, points: maxPoints - 1 },
        ],
        ...{ until: 253_402_300_799_999, expiredPointsPolicy: "CURRENT_MONTH" },
        ...{ capturedPoints: maxPoints - 1, captureCount: maxCaptures - 1 },
      }),
      hold(p, "b", { state: "EXPIRED", release: ended, capturedPoints: 1, captureCount: 1 }),
    ];
    await fill(
      store,
      all.map((each) => write(holdRef(each), each)),
    );
    for (const each of all) {
      expect((await reader.get(holdRef(each)))?.value).toEqual(each);
    }
  });
});

test("a hold stays under 1 KB unless its texts are as long as they may be", () => {
  const id = "i".repeat(64);
  const texts = (bytes: number) => ({ reason: "r".repeat(bytes), cause: "c".repeat(bytes) });
  const usual = hold("p".repeat(32), id, {
    ...{ ...texts(64), userId: "u".repeat(64), hash: largestCapture.hash, until: late },
    ...{ creator: { service: "s".repeat(32), subject: "s".repeat(36) }, state: "CAPTURED" },
    months: Array.from({ length: 36 }, (_, i) => ({ month: 24_322 + i, points: maxPoints / 40 })),
    ...{ createTime: late, updateTime: late, heldTime: late, entryNumber: ended.entryNumber },
    ...{ availablePoints: maxBalance - 1, expiredPointsPolicy: "CURRENT_MONTH" },
    ...{ capturedPoints: maxPoints - 1, captureCount: maxCaptures, release: ended },
    reservationShardCount: 256,
  });
  const size = (value: Hold) => itemSize(toItem(holdRef(value), value, maxCaptures + 2));
  expect(size(usual)).toBeLessThan(1_024);
  const { caller: creator } = largestCapture.entry;
  const longest = { ...usual, ...texts(128), userId: "u".repeat(128), creator };
  expect(size(longest)).toBeLessThan(1_310);
});

test("captures come back as they were written, and only those of their hold", async () => {
  const { store, reader } = open();
  const programId = newProgram();
  const { entry } = largestCapture;
  const key = (eventId: string, holdId = "h", userId = "u") => {
    const event = captureEvent(holdId, eventId);
    const value = { ...largestCapture, entry: { ...entry, event, changes: [] } };
    return write(eventRef(programId, userId, eventName(event)), value);
  };
  const ids = ["a", "/", "a/b", "K", "release", "~".repeat(64)];
  const own = ids.map((id) => key(id));
  await fill(store, [...own, key("b", "h2"), key("b", "H"), key("b", "h", "v")]);
  const found = await reader.capturesOf(hold(programId, "h"));
  expect(found.map(({ entry: { event } }) => event.eventId).sort()).toEqual(
    ids.map((id) => `h/capture/${id}`).sort(),
  );
  expect(await reader.many(own.map(({ ref }) => ref))).toEqual(own.map(({ value }) => value));
});

test("the key of a capture stays under 1 KB, also with the longest texts", () => {
  const event = captureEvent("i".repeat(64), "e".repeat(64));
  const ref = eventRef("p".repeat(32), "u".repeat(128), eventName(event));
  expect(itemSize(toItem(ref, largestCapture, maxCaptures))).toBeLessThan(1_024);
});
