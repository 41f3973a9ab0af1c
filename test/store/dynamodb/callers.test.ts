/** Tests how callers are stored: the subject only where it is not the service itself. */
import { describe, expect, test } from "vitest";
import {
  bulkGrantRef,
  entryRef,
  type Kind,
  programRef,
  type Records,
  type Ref,
  reservationRef,
} from "../../../src/app/ports/records.ts";
import { asService, type Caller } from "../../../src/domain/caller.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import type { Program } from "../../../src/domain/program.ts";
import type { Reservation } from "../../../src/domain/reservation.ts";
import { codecOf, toItem } from "../../../src/store/dynamodb/codecs/index.ts";
import { bulkGrantOf, revisionOf } from "../../support/fixtures/bulk-records.ts";

const entry = (caller: Caller): LedgerEntry => ({
  number: 1,
  type: "FROZEN",
  event: { origin: "c", eventId: "e" },
  createTime: 1,
  effectiveTime: 1,
  points: 0,
  changes: [],
  frozen: true,
  availablePoints: 0,
  reason: "",
  caller,
});

const reservation = (creator: Caller, changedBy?: Caller): Reservation => ({
  programId: "p",
  reservationId: "r",
  userId: "u",
  points: 1,
  reason: "",
  creator,
  hash: "1:x",
  executeTime: 1,
  state: "PENDING",
  createTime: 1,
  updateTime: 1,
  ...(changedBy && { lastChange: { caller: changedBy, time: 1, reason: "" } }),
});

const program = (by: Caller): Program => ({
  programId: "p",
  timeZone: "UTC",
  lifetimes: [{ lifetimeMonths: 1, effectiveTime: 0 }],
  createTime: 0,
  reservationPause: { time: 1, caller: by, reason: "" },
});

const bulkGrant = (by: Caller) => {
  const done = { caller: by, time: 5, reason: "n" };
  return bulkGrantOf("p", {
    revision: { ...revisionOf("upload"), submitter: by },
    approvals: [done],
    pause: { ...done, action: "PAUSE", revision: 2 },
    actions: [],
  });
};

const read = <K extends Kind>(ref: Ref<K>, value: Records[K]) => {
  const item = toItem(ref, value, 1);
  return { item, decoded: codecOf(ref.kind).decode(item) };
};

const shop = asService("shop");
const alice = { service: "shop", subject: "alice" };
const [by, reason, subject] = [{ S: "shop" }, { S: "n" }, { S: "alice" }];

describe.each([
  ["a service of its own", shop, {}],
  ["a service on behalf of somebody", alice, { subject }],
])("%s", (_, caller, { subject }: { readonly subject?: { readonly S: string } }) => {
  /** The attributes of the caller; without a subject of its own, the first only. */
  const attributes = (name: string) => ({ [name]: by, [`${name}s`]: subject });

  test("in a ledger entry", () => {
    const { item, decoded } = read(entryRef("p", "u", 1), entry(caller));
    expect({ w: item.w, ws: item.ws }).toEqual(attributes("w"));
    expect(decoded).toEqual(entry(caller));
  });

  test("in a reservation that was not changed, or by its creator", () => {
    for (const value of [reservation(caller), reservation(caller, { ...caller })]) {
      const { item, decoded } = read(reservationRef("p", "r"), value);
      expect({ w: item.w, ws: item.ws, mw: item.mw, mws: item.mws }).toEqual(attributes("w"));
      expect(decoded).toEqual(value);
    }
  });

  test("in a reservation that was changed", () => {
    for (const creator of [asService("cafe"), { service: "shop", subject: "ben" }]) {
      const value = reservation(creator, caller);
      const { item, decoded } = read(reservationRef("p", "r"), value);
      expect({ mw: item.mw, mws: item.mws }).toEqual(attributes("mw"));
      expect(decoded).toEqual(value);
    }
  });

  test("in a pause of reservations", () => {
    const { item, decoded } = read(programRef("p"), program(caller));
    expect({ pw: item.pw, pws: item.pws }).toEqual(attributes("pw"));
    expect(decoded).toEqual(program(caller));
  });

  test("in a bulk grant, its approvals and actions", () => {
    const row = bulkGrant(caller);
    const { item, decoded } = read(bulkGrantRef("p", row.bulkGrantId), row);
    const further = subject ? [subject] : [];
    expect({ w: item.r?.M?.w, ws: item.r?.M?.ws }).toEqual(attributes("w"));
    expect(item.a).toEqual({ L: [{ L: [by, { N: "5" }, reason, ...further] }] });
    const pause = [by, { N: "5" }, reason, { S: "PAUSE" }, { N: "2" }, ...further];
    expect(item.pa).toEqual({ L: pause });
    expect(decoded).toEqual(row);
  });
});
