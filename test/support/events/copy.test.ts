/** Tests that a copy by events, and its comparison with the tables, find every kind of fault. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { Hold_State as HoldState } from "../../../src/gen/meguri/holds/v1/hold_pb.ts";
import {
  type LedgerEntry,
  LedgerEntrySchema,
  LedgerEntry_Type as Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { differences } from "./compare.ts";
import { EventCopy } from "./copy.ts";
import { crossing, dismissed, entry, gap, hold, notification, reservation } from "./hand-made.ts";
import type { Tables } from "./tables.ts";

/** What a right log has. */
const good = {
  issued: entry(1, Type.ISSUED, 150, 150),
  used: entry(2, Type.USED, -70, 80),
  crossed: crossing(2, 150, 80),
  issuedAgain: entry(3, Type.ISSUED, 10, 90),
  held: hold(1, HoldState.HELD, "hold.created"),
  captured: hold(2, HoldState.CAPTURED, "hold.captured"),
  reserved: reservation(1, State.PENDING, "reservation.created"),
  moved: reservation(2, State.PENDING, "reservation.changed"),
  done: reservation(3, State.DONE, "reservation.done"),
  began: notification("a", "notification.began", 1, 1),
  joined: notification("a", "notification.joined", 2, 2),
  other: notification("b", "notification.began", 3, 1),
  read: notification("a", "notification.read", 5, 2, true),
  dismissed: dismissed("b", 3),
};

type Name = keyof typeof good;

const without = (...names: Name[]): Event[] =>
  (Object.keys(good) as Name[]).filter((name) => !names.includes(name)).map((name) => good[name]);

const all = without();

const swapped = (first: Name, second: Name): Event[] =>
  all.map((each) => {
    if (each === good[first]) return good[second];
    return each === good[second] ? good[first] : each;
  });

function copyOf(events: readonly Event[]): EventCopy {
  const copy = new EventCopy();
  for (const each of events) copy.add(each);
  return copy;
}

/** Tables that say what the copy of a right log has. */
function tablesOf({ ledgers, records }: EventCopy): Tables {
  const ofLedger = (entries: readonly LedgerEntry[]) =>
    entries.map((each) => toJson(LedgerEntrySchema, each) as JsonObject);
  const stored = [...records].filter(([name]) => !/^account|^notification owner b/.test(name));
  return {
    ledgers: new Map([...ledgers].map(([name, entries]) => [name, ofLedger(entries)])),
    records: new Map(stored.map(([name, { data }]) => [name, data])),
  };
}

const limits = new Map([["default", { below: [100], above: [] }]]);
const tables = tablesOf(copyOf(all));
const wrong = (events: readonly Event[]) => differences(copyOf(events), tables, limits);

describe("a copy by events", () => {
  test("finds nothing wrong in a right log, also twice, and with late notifications", () => {
    expect(wrong(all)).toEqual([]);
    expect(wrong(all.flatMap((each) => [each, each]))).toEqual([]);
    expect(wrong(swapped("joined", "read"))).toEqual([]);
    expect(wrong(swapped("other", "dismissed"))).toEqual([]);
    const copy = copyOf([...all, ...all]);
    expect(differences(copy, tables, limits)).toEqual([]);
    expect(copy.counts).toEqual({ events: all.length, repeated: all.length, gaps: 0 });
  });

  test.each<[what: string, events: Event[], fault: string]>([
    ["a lost entry", without("used"), "points/default/aoi/3: number 2 is missing before it"],
    ["the last entry lost", without("issuedAgain"), "account default/aoi, entry 3: is not in"],
    ["a lost version", without("moved"), "reservations/default/r/3: number 2 is missing"],
    ["a lost first version", without("held"), "holds/default/h/2: number 1 is missing"],
    ["a lost end", without("done"), "reservation default/r: recordVersion is"],
    [
      "entries swapped",
      swapped("used", "issuedAgain"),
      "points/default/aoi/2: comes after number 3",
    ],
    ["versions swapped", swapped("held", "captured"), "holds/default/h/1: comes after number 2"],
    ["a lost mark as read", without("read"), "notification owner a: recordVersion is"],
    ["a lost dismissal", without("dismissed"), "notification owner b: is in the copy only"],
    [
      "a lost notification",
      without("began", "joined", "read"),
      "notification owner a: is not in the copy",
    ],
    ["a lost crossing", without("crossed"), "the crossing below 100 at 2, 150 to 80 is missing"],
    ["a crossing of no limit", [...all, crossing(3, 80, 90)], "below 100 at 3, 80 to 90 was none"],
    [
      "another id for the same change",
      [...all, { ...good.used, id: "points/default/aoi/2b" }],
      "points/default/aoi/2b: is the same change as points/default/aoi/2",
    ],
    [
      "another content under the same id",
      [...all, entry(2, Type.USED, -71, 79)],
      "points/default/aoi/2: came again with another content",
    ],
    [
      "a balance that does not follow",
      [...all, entry(4, Type.USED, -10, 81)],
      "points/default/aoi/4: has 81 points, and 80 by its changes",
    ],
    [
      "a subject of two records",
      [
        ...all,
        { ...hold(3, HoldState.RELEASED, "hold.released"), subject: "reservations/default/r" },
      ],
      "holds/default/h/3: is of the subject reservations/default/r",
    ],
    [
      "a type that its data contradicts",
      [...all, hold(3, HoldState.RELEASED, "hold.expired")],
      "holds/default/h/3: is hold.expired, not hold.released",
    ],
    [
      "another source",
      [...all, { ...entry(4, Type.USED, -10, 80), source: "/meguri/other" }],
      "points/default/aoi/4: is of /meguri/other",
    ],
  ])("finds %s", (_, events, fault) => {
    expect(wrong(events).join("\n")).toContain(fault);
  });
});

describe("a gap", () => {
  const lost = without("moved", "done");

  test("is closed by the latest version, behind which older ones may come late", () => {
    const closed = [...lost, gap("found"), good.done, gap("closed", 1n)];
    expect(wrong(closed)).toEqual([]);
    expect(wrong([...closed, good.moved])).toEqual([]);
  });

  test("hides no version that is lost after it", () => {
    expect(wrong([...lost, gap("found"), gap("closed"), good.done]).join()).toContain(
      "number 2 is missing",
    );
  });

  test("says how many events were sent for it", () => {
    const wrongly = [...lost, gap("found"), good.done, gap("closed", 2n)];
    expect(wrong(wrongly).join()).toContain("1 events were sent for it");
    expect(wrong([...all, gap("closed")]).join()).toContain("no gap was open");
  });
});
