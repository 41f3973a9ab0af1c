/** Tests that the items of points and reservations stay under the sizes of docs/change/keys.md. */
import { describe, expect, test } from "vitest";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import type { Caller } from "../../../src/platform/words/caller.ts";
import { maxPoints } from "../../../src/platform/words/units.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../../src/points/ports/records.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { maxBalance } from "../../../src/points/rules/points.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { account, reservation } from "../../support/fixtures/stored-points.ts";

describe.each([64, 128])("the largest items of a user with an id of %i bytes", (userIdBytes) => {
  const programId = "p".repeat(32);
  const userId = "u".repeat(userIdBytes);
  const event = { origin: "c", eventId: "e".repeat(128) } as const;
  const late = 253_402_300_799_999;
  const hash = `1:${"h".repeat(43)}`;
  /** A refund over 36 months, each with as many points as the sum of all permits. */
  const refund = (caller: Caller): LedgerEntry => ({
    number: 999_999_999_999,
    type: "REFUNDED",
    event,
    createTime: late,
    effectiveTime: late,
    points: maxPoints - 1,
    changes: Array.from({ length: 36 }, (_, i) => ({
      month: 119_964 + i,
      points: Math.floor(maxPoints / 36),
    })),
    total: "refundedPoints",
    frozen: false,
    availablePoints: maxBalance - 1,
    reason: "r".repeat(128),
    caller,
    relatedEvent: { origin: "c", eventId: "d".repeat(128) },
  });
  const cause = "o".repeat(128);
  const callerOf = (serviceBytes: number, subjectBytes: number) => ({
    service: "w".repeat(serviceBytes),
    subject: "s".repeat(subjectBytes),
  });
  const uuidBytes = 36;

  /** `bytes` is the limit for ids of up to 64 bytes, which an item has once or twice. */
  const check = (name: string, ref: Ref, value: Records[Kind], bytes = 1_024) => {
    const size = itemSize(toItem(ref, value, 999_999_999_999));
    expect(size, name).toBeLessThan(bytes + 2 * (userIdBytes - 64));
  };

  test("account", () => {
    // Also with the longest id under 1 KB.
    check(
      "account",
      accountRef(programId, userId),
      account(programId, userId, {
        month: 119_999,
        slots: Array.from({ length: 36 }, () => Math.floor(maxBalance / 36)),
        totals: {
          issuedPoints: maxBalance - 1,
          usedPoints: maxBalance - 1,
          expiredPoints: 2 * maxBalance - 1,
          refundedPoints: maxBalance - 1,
          revokedPoints: maxBalance - 1,
          heldPoints: maxBalance - 1,
          capturedPoints: maxBalance - 1,
          releasedPoints: maxBalance - 1,
        },
        frozen: true,
        last: 999_999_999_999,
        time: late,
        oldest: 119_964,
      }),
      1_024 - 2 * (userIdBytes - 64),
    );
  });

  test("entry and event key", () => {
    const entry = refund(callerOf(64, 128));
    check("entry", entryRef(programId, userId, entry.number), entry);
    const ref = eventRef(programId, userId, `c:${event.eventId}`);
    const key = { hash, entry, availablePoints: maxBalance - 1, reversedPoints: 0 };
    check("event key", ref, key, 1_040);
    check("event key by a UUID", ref, { ...key, entry: refund(callerOf(64, uuidBytes)) });
    check(
      "entry with a cause",
      entryRef(programId, userId, entry.number),
      { ...entry, cause },
      1_112,
    );
    check("event key with a cause", ref, { ...key, entry: { ...entry, cause } }, 1_164);
    const { relatedEvent: _, ...grant } = { ...entry, changes: entry.changes.slice(0, 1), cause };
    check("grant with a cause", ref, {
      ...key,
      entry: { ...grant, type: "ISSUED", expireTime: late },
    });
  });

  test("program", () => {
    check("program", programRef(programId), {
      programId,
      timeZone: "America/Argentina/ComodRivadavia",
      lifetimes: Array.from({ length: 36 }, (_, i) => ({
        lifetimeMonths: i + 1,
        effectiveTime: late - i,
      })),
      createTime: late,
      reservationPause: { time: late, caller: callerOf(64, 128), reason: "r".repeat(128) },
      notices: { expiryDays: 27, reservedGrants: true },
    });
  });

  test("reservation", () => {
    const id = "i".repeat(64);
    // A cancelled reservation may have failed, but its points were never granted.
    const row = reservation(programId, id, {
      userId,
      points: maxPoints - 1,
      reason: "r".repeat(128),
      creator: callerOf(64, 128),
      hash,
      state: "CANCELLED",
      executeTime: late,
      createTime: late,
      updateTime: late,
      grant: { time: late, entryNumber: 999_999_999_999, dueSince: late },
      failure: { reason: "LEDGER_ENTRY_NOT_FOUND", message: "m".repeat(64) },
      lastChange: { caller: callerOf(64, 127), time: late, reason: "y".repeat(128) },
    });
    check("reservation", reservationRef(programId, id), row, 1_280);
    check("reservation with a cause", reservationRef(programId, id), { ...row, cause }, 1_410);
    const changedBy = callerOf(32, uuidBytes + 1);
    const byUuids = {
      creator: callerOf(32, uuidBytes),
      lastChange: { caller: changedBy, time: late, reason: "y".repeat(128) },
    };
    check("reservation by UUIDs", reservationRef(programId, id), { ...row, ...byUuids });
  });
});
