/**
 * A small run of all services that is right, as its clients and the store have it. Tests change it
 * in one place each.
 */

import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { Table } from "../../../src/platform/dynamodb/tables.ts";
import type { Kind, Ref } from "../../../src/platform/ports/records.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Reason } from "../../../src/platform/words/reasons.ts";
import { parseEventName } from "../../../src/points/rules/ledger.ts";
import { codecOf, toItem } from "../../../src/store/codecs.ts";
import { eventsOf, type Request } from "../../../test/support/models/reactions-requests.ts";
import { answerTo } from "../../../test/support/models/reactions-use-cases.ts";
import { type Operation, targetMonthOf } from "../../../test/support/models/workload-operations.ts";
import { type MemoryStore, memoryDeps } from "../../../test/support/stores/memory-store.ts";
import type { Attempt, Record } from "../record.ts";
import type { Entry, State } from "./state.ts";

export interface Run {
  readonly record: Record;
  readonly state: State;
}

/** A call that was answered, from `time` on. */
export const answered = <A>(time: number, answer: A): Attempt<A> => ({
  ...{ start: time, end: time + 5, time, answer },
});
export const refused = (time: number, reason: Reason, metadata = {}): Attempt<never> => ({
  ...{ start: time, end: time + 5, time, error: new DomainError(reason, reason, metadata) },
});
/** A call without an answer. */
export const unanswered = (time: number): Attempt<never> => refused(time, "STORE_UNAVAILABLE");

/** A change, as a record has it. */
const sent = (op: string, about: object, ...attempts: readonly Attempt[]) => ({
  ...{ request: { op, ...about }, attempts },
});

/** The run: everything of it is new in each call. */
export async function recordedRun(): Promise<Run> {
  const [ann, bob] = [ledgerOfAnn(), ledgerOfBob()];
  const { tables, ...feeds } = await feedsOf();
  const [create, lengthen] = [answered(1, {}), answered(20, {})];
  const months = [
    sent("create", { months: 12 }, create),
    sent("lengthen", { months: 24 }, lengthen),
  ];
  const lifetimes = [12, 24].map((lifetimeMonths) => ({ lifetimeMonths, effectiveTime: 0 }));
  const record = {
    points: operationsOnPoints(ann, bob),
    holds: operationsOnHolds(bob),
    reservations: reservationsOf(),
    bulkGrants: bulkGrantsOf(),
    programs: [{ id: "p", sent: months }],
    surprises: [],
    ...feeds,
  };
  const state = {
    time: 100_000,
    ledgers: new Map(Object.entries({ ann, bob })),
    differences: [],
    holds: new Map(holdsOf().map((each) => [each.holdId, each])),
    heldPoints: new Map(Object.entries({ ann: 0, bob: 6 })),
    ...storedOf(),
    programs: new Map([["p", { lifetimes }]]),
    tables,
  };
  return { record, state } as never;
}

/** The records of the reservations and of the bulk grants. */
function storedOf() {
  const grant = { time: 2_003, entryNumber: 3, dueSince: 2_000 };
  const done = { userId: "ann", points: 7, state: "DONE", executeTime: 2_000, grant };
  const cancelled = { userId: "ann", points: 8, state: "CANCELLED", executeTime: 1_000 };
  const rows = (state: string) => [{ userId: "ann", points: 5, state }];
  const result = { grantedCount: 1, grantedPoints: 5, failedCount: 0, notRunCount: 0 };
  const ended = { state: "DONE", endTime: 4_000, result, rows: rows("GRANTED") };
  const never = { state: "CANCELLED", rows: rows("NOT_RUN") };
  return {
    reservations: new Map<string, unknown>(Object.entries({ done, cancelled })),
    bulkGrants: new Map<string, unknown>(Object.entries({ "b-done": ended, "b-cancelled": never })),
  };
}

/** The first fields of an entry, with its event as in `c:g`. */
type Line = [name: string, type: Entry["type"], points: number, left: number, rest?: object];

const ledgerOf = (lines: readonly Line[]): Entry[] =>
  lines.map(([name, type, points, availablePoints, rest], i) => {
    const fixed = { number: i + 1, createTime: 10 * (i + 1), changes: [], reason: "" };
    return { ...fixed, event: parseEventName(name), type, points, availablePoints, ...rest };
  }) as never;

/** A grant, a use, a reservation and a row. */
const ledgerOfAnn = () =>
  ledgerOf([
    ["c:g", "ISSUED", 50, 50],
    ["c:u", "USED", 20, 30],
    ["r:done", "ISSUED", 7, 37, { createTime: 2_003 }],
    ["b:b-done_ann", "ISSUED", 5, 42, { createTime: 3_000 }],
  ]);

/**
 * A grant that was extended, a hold that was captured twice, one that was released, one that timed
 * out, and one that is open.
 */
function ledgerOfBob() {
  const month = targetMonthOf({ kind: "extend", points: 7 } as Operation) - 1;
  const of = (name: string, reason: string) => ({ relatedEvent: parseEventName(name), reason });
  const grant = { month, points: 60 };
  const changes = [
    { ...grant, points: -60 },
    { ...grant, month: month + 1 },
  ];
  return ledgerOf([
    ["c:bg", "ISSUED", 60, 60, { changes: [grant] }],
    ["c:be", "EXTENDED", 60, 60, { changes, ...of("c:bg", "") }],
    ["h:h-1", "HELD", 30, 30],
    ["h:h-1/capture/k-1", "CAPTURED", 10, 30, of("h:h-1", "k-1")],
    ["h:h-1/capture/k-2", "CAPTURED", 5, 30, of("h:h-1", "k-2")],
    ["h:h-1/release", "RELEASED", 15, 45, of("h:h-1", "k-2")],
    ["h:h-2", "HELD", 20, 25],
    ["h:h-2/release", "RELEASED", 20, 45, of("h:h-2", "l-2")],
    ["h:h-3", "HELD", 8, 37],
    ["h:h-3/release", "RELEASED", 8, 45, of("h:h-3", "")],
    ["h:h-4", "HELD", 6, 39],
  ]);
}

/** The answer of the call that has made an entry. */
const known = (ledger: readonly Entry[], number: number, time = 10 * number - 2) => {
  const { createTime: _, ...made } = ledger[number - 1] as Entry;
  return answered(time, { entry: made, availablePoints: made.availablePoints, replayed: false });
};

const outcome = (
  [userId, id, kind, points, reverses = "nothing"]: [string, string, string, number, string?],
  attempts: readonly Attempt[],
  until?: number,
) => ({ operation: { id, kind, points, userId, reverses, ...(until && { until }) }, attempts });

/** Among them one without an answer, and refused ones. */
const operationsOnPoints = (ann: readonly Entry[], bob: readonly Entry[]) => [
  outcome(["ann", "g", "grant", 50], [known(ann, 1)]),
  outcome(["ann", "u", "use", 20], [unanswered(16), known(ann, 2, 22)]),
  outcome(
    ["ann", "r", "use", 99],
    [refused(25, "INSUFFICIENT_POINTS", { available_points: "30" })],
  ),
  outcome(["ann", "n", "grant", 3], [unanswered(30)]),
  outcome(["bob", "bg", "grant", 7], [known(bob, 1)]),
  outcome(["bob", "be", "extend", 7, "bg"], [unanswered(15), known(bob, 2, 22)]),
  outcome(["bob", "bx", "extend", 7, "none"], [refused(25, "LEDGER_ENTRY_NOT_FOUND")]),
];

const operationsOnHolds = (bob: readonly Entry[]) => [
  outcome(["bob", "h-1", "hold", 7], [known(bob, 3)], 500_000),
  outcome(["bob", "k-1", "capture", 7, "h-1"], [known(bob, 4)]),
  outcome(["bob", "k-2", "capture", 7, "h-1"], [known(bob, 5)]),
  outcome(["bob", "k-3", "capture", 7, "h-1"], [refused(70, "WRONG_STATE")]),
  outcome(["bob", "h-2", "hold", 7], [known(bob, 7)], 500_000),
  outcome(["bob", "l-2", "release", 7, "h-2"], [known(bob, 8)]),
  outcome(["bob", "l-0", "release", 7, "h-4"], [refused(1, "HOLD_NOT_FOUND")]),
  outcome(["bob", "h-3", "hold", 7], [known(bob, 9)], 100),
  outcome(["bob", "h-4", "hold", 7], [known(bob, 11)], 500_000),
];

/** The records of these holds. */
function holdsOf() {
  const hold = (holdId: string, state: string, entryNumber: number, points: number, rest = {}) => ({
    ...{ holdId, userId: "bob", state, entryNumber, until: 500_000, updateTime: 110 },
    ...{ months: [{ month: 0, points }], capturedPoints: 0, captureCount: 0, ...rest },
  });
  const captured = { capturedPoints: 15, captureCount: 2 };
  return [
    hold("h-1", "CAPTURED", 3, 30, { ...captured, release: { entryNumber: 6, points: 15 } }),
    hold("h-2", "RELEASED", 7, 20, { release: { entryNumber: 8, points: 20 } }),
    hold("h-3", "EXPIRED", 9, 8, { release: { entryNumber: 10, points: 8 }, until: 100 }),
    hold("h-4", "HELD", 11, 6),
  ];
}

/** One that was moved and granted, one that was cancelled, one that may have been created. */
function reservationsOf() {
  const pending = (time: number, executeTime: number) =>
    answered(time, { state: "PENDING", points: 7, executeTime });
  const cancelled = answered(70, { state: "CANCELLED", points: 8, executeTime: 1_000 });
  const created = (...attempts: Attempt[]) => sent("create", { executeTime: 1_000 }, ...attempts);
  const done = [
    created(pending(40, 1_000)),
    sent("move", { executeTime: 2_000 }, pending(60, 2_000)),
    sent("cancel", {}, refused(2_010, "WRONG_STATE")),
  ];
  const ended = [created(pending(40, 1_000)), sent("cancel", {}, unanswered(50), cancelled)];
  return [
    { id: "done", userId: "ann", points: 7, sent: done },
    { id: "cancelled", userId: "ann", points: 8, sent: ended },
    { id: "unknown", userId: "ann", points: 9, sent: [created(unanswered(40))] },
  ];
}

/** One that was run, and one that was cancelled before. */
function bulkGrantsOf() {
  const rows = () => [{ userId: "ann", points: 5 }];
  const at = (op: string, time: number) => sent(op, {}, answered(time, {}));
  const [done, cancelled] = [
    [at("submit", 50), at("approve", 500)],
    [at("submit", 50), at("cancel", 90)],
  ];
  return [
    { id: "b-done", rows: rows(), executeTime: 2_000, sent: done },
    { id: "b-cancelled", rows: rows(), executeTime: undefined, sent: cancelled },
  ];
}

/** Reactions, events and a mark-read, made by the use cases on a store in memory. */
async function feedsOf() {
  const { deps, store } = memoryDeps();
  const target = { type: "post", id: "p" };
  const regroupAfterMs = undefined;
  const like = (userId: string): Request => ({
    ...{ op: "react", target, kind: "like", userId, displayName: userId },
    ...{ exclusive: false, silent: false, coolDownMs: 0, regroupAfterMs },
  });
  const unlike = (userId: string): Request => ({ op: "unreact", target, kind: "like", userId });
  const event = (eventId: string) => ({ service: "blog", eventId, target }) as const;
  const notify = (eventId: string): Request => ({
    ...{ op: "notify", ...event(eventId), kind: eventsOf("comment") },
    ...{ userId: "dan", displayName: "dan", link: "", data: "", regroupAfterMs },
  });
  const read = (version: number): Request => ({
    ...{ op: "read", target, kind: "like", generation: version, version },
  });
  const sent = async (requests: readonly Request[]) => {
    const all: object[] = [];
    for (const request of requests) {
      const attempts = [answered(1, await answerTo(deps, "owner", request))];
      all.push({ ownerId: "owner", request, attempts });
    }
    return all;
  };
  await answerTo(deps, "owner", { op: "register", target, title: "" });
  const before = await sent([like("ann"), like("bob"), unlike("bob")]);
  const firstRead = await sent([read(1)]);
  const events = await sent([notify("e-1"), notify("e-2"), { op: "retract", ...event("e-2") }]);
  const reactions = [...before, ...(await sent([like("dan"), like("cat"), unlike("dan")]))];
  // It finds nobody: cat, who came later, has the notification that began with dan.
  const reads = [...firstRead, ...(await sent([read(8)]))];
  const itemsOf = (table: Table) => itemsIn(store, table);
  const tables = { reactions: itemsOf("reactions"), notifications: itemsOf("notifications") };
  return { reactions, events, reads, tables };
}

/** The items that a store in memory would have in a table. */
export const itemsIn = (store: Pick<MemoryStore, "dump">, table: Table): Item[] =>
  Object.entries(store.dump()).flatMap(([name, { value, version }]) => {
    const [, kind = "", id = ""] = /^([^#]+)#(.*)$/s.exec(name) ?? [];
    const ref = { kind: kind as Kind, id } as Ref;
    return value && codecOf(ref.kind).table === table ? [toItem(ref, value, version)] : [];
  });

/** The value. Throws when there is none. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the recorded run has no such thing");
  return value;
}
