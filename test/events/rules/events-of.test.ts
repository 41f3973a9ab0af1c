/** Tests which events a change of a record is. */
import { describe, expect, test } from "vitest";
import type { ChangedRecord } from "../../../src/events/rules/change-event.ts";
import { eventsOfStored } from "../../../src/events/rules/events-of.ts";
import {
  begun,
  bulkGrant,
  bulkRecord,
  changed,
  closed,
  entryOf,
  entryRecord,
  eventTime,
  holdRecord,
  joined,
  programRecord,
  read,
  reservationRecord,
  target,
  targetRecord,
  unread,
  unreadAgain,
} from "../../support/fixtures/events.ts";

const shown = (...change: Parameters<typeof changed>) =>
  changed(...change).map(({ type, id }) => `${type} ${id}`);

const entry = (number: number, more: object = {}) =>
  entryRecord({ ...entryOf("USED", -10), number, ...more });

describe("entries", () => {
  test("of one item are an event each, in their order", () => {
    expect(shown([], [entry(17), entry(18), entry(19)])).toEqual([
      "points.used points/default/aoi/17",
      "points.used points/default/aoi/18",
      "points.used points/default/aoi/19",
    ]);
  });

  test("that were there before are none: a repair has removed a snapshot", () => {
    expect(shown([entry(17), entry(18)], [entry(17), entry(18)])).toEqual([]);
    expect(shown([entry(17)], [entry(17), entry(18)])).toHaveLength(1);
    expect(shown([entry(17)], [])).toEqual([]);
  });

  test("come before their crossings", () => {
    const changes = [{ month: 1, points: -9_960 }];
    const low = { availablePoints: 90, changes };
    const high = { availablePoints: 10_050, changes: [{ month: 1, points: 10_050 }] };
    expect(shown([], [entry(17, high), entry(18, low)])).toEqual([
      "points.used points/default/aoi/17",
      "points.balance_crossed points/default/aoi/17/above/0",
      "points.balance_crossed points/default/aoi/17/above/10000",
      "points.used points/default/aoi/18",
      "points.balance_crossed points/default/aoi/18/below/100",
    ]);
  });

  test("of a user whose id has a slash have an id of their own", () => {
    const record: ChangedRecord = { ...entry(17), id: "default#a/b%#17" } as ChangedRecord;
    expect(shown([], [record])).toEqual(["points.used points/default/a%2Fb%25/17"]);
  });
});

describe("records", () => {
  test.each([
    ["PENDING", 1, "created"],
    ["PENDING", 2, "changed"],
    ["DONE", 2, "done"],
    ["FAILED", 2, "failed"],
    ["CANCELLED", 3, "cancelled"],
  ] as const)("a reservation that is %s by change %i was %s", (state, version, type) => {
    const record = reservationRecord(state, version);
    expect(shown([], [record])).toEqual([
      `reservation.${type} reservations/default/r%2F1/${version}`,
    ]);
    expect(changed([], [record])[0]).toMatchObject({
      programId: "default",
      cause: "order-17",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      time: eventTime,
    });
  });

  test.each([
    ["HELD", 1, "created"],
    ["HELD", 2, "captured"],
    ["CAPTURED", 3, "captured"],
    ["RELEASED", 2, "released"],
    ["EXPIRED", 2, "expired"],
  ] as const)("a hold that is %s by change %i was %s", (state, version, type) => {
    expect(shown([], [holdRecord(state, version)])).toEqual([
      `hold.${type} holds/default/h-1/${version}`,
    ]);
  });

  test("a bulk grant ends once each time that it comes to a final state", () => {
    const id = "bulk_grants/default/spring%20%E6%98%A5";
    const [running, done, reported] = [
      bulkRecord("RUNNING", 4),
      bulkRecord("DONE_WITH_FAILURES", 5),
      bulkRecord("DONE_WITH_FAILURES", 6),
    ];
    expect(shown([running], [done])).toEqual([`bulk_grant.ended ${id}/5`]);
    expect(shown([done], [reported])).toEqual([`bulk_grant.changed ${id}/6`]);
    expect(shown([reported], [bulkRecord("RUNNING", 7)])).toEqual([`bulk_grant.changed ${id}/7`]);
    expect(shown([bulkRecord("RUNNING", 7)], [bulkRecord("DONE", 8)])).toEqual([
      `bulk_grant.ended ${id}/8`,
    ]);
  });

  test("a bulk grant that only a report was noted of has changed when it was noted", () => {
    const [before, after] = [bulkRecord("DONE", 5), bulkRecord("DONE", 6)] as const;
    const value = { ...bulkGrant, state: "DONE", updateTime: eventTime - 5_000 } as const;
    const old = { ...before, value } as ChangedRecord;
    expect(changed([old], [{ ...after, value } as ChangedRecord])[0]?.time).toBe(eventTime);
    expect(changed([bulkRecord("RUNNING", 4)], [old])[0]?.time).toBe(eventTime - 5_000);
  });

  test("targets and programs are numbered by their changes", () => {
    const deleted = targetRecord({ ...target, deleteTime: eventTime }, 3);
    expect(shown([targetRecord(target, 1)], [targetRecord(target, 2)])).toEqual([
      "target.changed targets/post/p%2F1/2",
    ]);
    expect(shown([targetRecord(target, 2)], [deleted])).toEqual([
      "target.deleted targets/post/p%2F1/3",
    ]);
    expect(shown([], [programRecord])).toEqual(["program.changed programs/default/4"]);
  });
});

describe("notifications", () => {
  const id = (version: string) => `notifications/aoi/like/post/p%2F1/7/${version}`;

  test("begin, are joined, change, and are gone", () => {
    const [first, second] = [unread(begun, 7), unread(joined, 8)];
    expect(shown([], [first])).toEqual([`notification.began ${id("7")}`]);
    expect(shown([first], [second])).toEqual([`notification.joined ${id("8")}`]);
    expect(shown([second], [unread(begun, 9)])).toEqual([`notification.changed ${id("9")}`]);
    expect(shown([second], [])).toEqual([`notification.dismissed ${id("8/gone")}`]);
  });

  test("are read, change in the history, and leave it", () => {
    const changedLater = { ...read, version: 13 } as ChangedRecord;
    expect(shown([], [read])).toEqual([`notification.read ${id("12")}`]);
    expect(shown([read], [changedLater])).toEqual([`notification.changed ${id("13")}`]);
    expect(shown([read], [])).toEqual([`notification.dismissed ${id("12/gone")}`]);
    expect(shown([read], [], true)).toEqual([]);
  });

  test("take in nobody new any more, or are unread again", () => {
    expect(shown([], [unread(closed, 10)])).toEqual([`notification.changed ${id("10")}`]);
    expect(shown([], [unread(unreadAgain, 13)])).toEqual([`notification.changed ${id("13")}`]);
  });

  test("make room for another one in the same item", () => {
    const next = { ...begun, generation: 21 };
    expect(shown([unread(joined, 8)], [unread(next, 9)])).toEqual([
      `notification.dismissed ${id("8/gone")}`,
      "notification.began notifications/aoi/like/post/p%2F1/21/9",
    ]);
  });
});

test("what is made again from a table has the same ids", () => {
  const again = (record: ChangedRecord) =>
    eventsOfStored(record, eventTime, () => undefined).map(({ id }) => id);
  const pairs = [
    [entry(16), entry(17)],
    [reservationRecord("PENDING", 1), reservationRecord("DONE", 2)],
    [holdRecord("HELD", 1), holdRecord("RELEASED", 2)],
    [bulkRecord("RUNNING", 4), bulkRecord("DONE", 5)],
    [targetRecord(target, 1), targetRecord(target, 2)],
    [unread(begun, 7), unread(joined, 8)],
  ] as const;
  for (const [before, after] of pairs) {
    expect(again(after)).toEqual(changed([before], [after]).map(({ id }) => id));
  }
  expect(again(read)).toEqual(changed([], [read]).map(({ id }) => id));
});
