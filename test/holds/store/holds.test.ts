/** Tests the records of holds: they come back, stay small, and are listed. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { holdRef } from "../../../src/holds/ports/records.ts";
import { type Capture, type Hold, maxCaptures } from "../../../src/holds/rules/hold.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { maxPoints } from "../../../src/platform/words/units.ts";
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
  captures: [],
  ...more,
});

const capture = (eventId: string): Capture => ({
  ...{ eventId, hash: `1:${"h".repeat(43)}`, points: 1, time: 1_790_000_000_001 },
  ...{ entryNumber: 3, availablePoints: maxBalance },
});

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
        captures: ["a", "/", "~".repeat(64)].map(capture),
      }),
      hold(p, "b", { state: "EXPIRED", release: ended, captures: [capture("c")] }),
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

test("a hold with three captures by ids of 32 bytes stays under 1 KB", () => {
  const id = "i".repeat(32);
  const usual = hold("program", id, {
    ...{ userId: "u".repeat(36), reason: "r".repeat(32), cause: id, hash: capture(id).hash },
    creator: { service: "shop", subject: "s".repeat(36) },
    months: [24_322, 24_323, 24_324].map((month) => ({ month, points: 1_000 })),
    captures: [1, 2, 3].map(() => capture(id)),
    release: ended,
  });
  expect(itemSize(toItem(holdRef(usual), usual, 5))).toBeLessThan(1_024);
  const most = { ...usual, captures: Array.from({ length: maxCaptures }, () => capture(id)) };
  expect(itemSize(toItem(holdRef(most), most, 22))).toBeLessThan(5 * 1_024);
});
