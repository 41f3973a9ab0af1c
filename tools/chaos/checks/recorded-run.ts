/**
 * A small run of all services that is right, as its clients and the store have it. Tests change it
 * in one place each.
 */

import type { Kind, Ref } from "../../../src/app/ports/records.ts";
import type { DomainError } from "../../../src/domain/errors.ts";
import { codecOf, toItem } from "../../../src/store/dynamodb/codecs/index.ts";
import type { Item } from "../../../src/store/dynamodb/sdk/attributes.ts";
import type { Table } from "../../../src/store/dynamodb/tables.ts";
import { eventsOf, type Request } from "../../../test/support/models/reactions-requests.ts";
import { answerTo } from "../../../test/support/models/reactions-use-cases.ts";
import type { Operation } from "../../../test/support/models/workload-operations.ts";
import { type MemoryStore, memoryDeps } from "../../../test/support/stores/memory-store.ts";
import type { Attempt, BulkOp, Record, ReservationAnswer, ReservationRequest } from "../record.ts";
import { answered, answerOf, entryOf, refused, unanswered } from "./recorded-calls.ts";
import { extensionsOf, holdsOf, ledgerOfHolds, storedHolds } from "./recorded-holds.ts";
import type { Entry, State, StoredBulkGrant, StoredReservation } from "./state.ts";

/** Without `readonly`, so that tests can change it. */
type Mutable<T> = T extends Item | DomainError | number
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? Map<K, Mutable<V>>
    : T extends object
      ? { -readonly [K in keyof T]: Mutable<T[K]> }
      : T;

export interface Run {
  readonly record: Mutable<Record>;
  readonly state: Mutable<State>;
}

export { answered, refused, unanswered } from "./recorded-calls.ts";

const soon = 1_000;

/** The run: everything of it is new in each call. */
export async function recordedRun(): Promise<Run> {
  const entries = ledgerOf();
  const bob = ledgerOfHolds();
  const feeds = await feedsOf();
  return {
    record: {
      points: [...pointsOf(entries), ...extensionsOf(bob)],
      holds: holdsOf(bob),
      reservations: reservationsOf(),
      bulkGrants: bulkGrantsOf(),
      programs: [
        {
          id: "p",
          sent: [
            { request: { op: "create", months: 12 }, attempts: [answered(1, {})] },
            { request: { op: "lengthen", months: 24 }, attempts: [answered(20, {})] },
          ],
        },
      ],
      surprises: [],
      ...feeds.record,
    } as never,
    state: {
      time: 100_000,
      ledgers: new Map([
        ["ann", entries],
        ["bob", bob],
      ]),
      differences: [],
      holds: new Map(storedHolds().map((hold) => [hold.holdId, hold])),
      heldPoints: new Map([
        ["ann", 0],
        ["bob", 6],
      ]),
      reservations: new Map(Object.entries(storedReservations())),
      bulkGrants: new Map(Object.entries(storedBulkGrants())),
      programs: new Map([["p", { lifetimes: lifetimes(12, 24) }]]),
      tables: feeds.tables,
    } as never,
  };
}

const lifetimes = (...months: number[]) =>
  months.map((lifetimeMonths) => ({ lifetimeMonths, effectiveTime: 0 }));

/** The ledger of one account: a grant, a use, a reservation and a row. */
function ledgerOf(): Entry[] {
  return [
    entryOf(1, "c", "g", { type: "ISSUED", points: 50, availablePoints: 50, createTime: 10 }),
    entryOf(2, "c", "u", { type: "USED", points: 20, availablePoints: 30, createTime: 20 }),
    entryOf(3, "r", "done", {
      type: "ISSUED",
      points: 7,
      availablePoints: 37,
      createTime: 2 * soon + 3,
    }),
    entryOf(4, "b", "b-done_ann", {
      type: "ISSUED",
      points: 5,
      availablePoints: 42,
      createTime: 3 * soon,
    }),
  ];
}

function pointsOf([grant, use]: readonly Entry[]) {
  const operation = (id: string, kind: Operation["kind"], points: number): Operation => ({
    id,
    kind,
    points,
    userId: "ann",
    reverses: "nothing",
  });
  const tooMuch = refused(25, "INSUFFICIENT_POINTS", { available_points: "30" });
  return [
    { operation: operation("g", "grant", 50), attempts: [answered(8, answerOf(grant as Entry))] },
    {
      operation: operation("u", "use", 20),
      attempts: [unanswered(16), answered(22, { ...answerOf(use as Entry), replayed: true })],
    },
    { operation: operation("r", "use", 99), attempts: [tooMuch] },
    { operation: operation("n", "grant", 3), attempts: [unanswered(30)] },
  ];
}

/** One that was moved and granted, one that was cancelled, one that may have been created. */
function reservationsOf(): Record["reservations"] {
  const sent = (request: ReservationRequest, ...attempts: Attempt<ReservationAnswer>[]) => ({
    request,
    attempts,
  });
  const pending = (time: number, executeTime: number) =>
    answered(time, { state: "PENDING", points: 7, executeTime });
  const create = (executeTime: number) => ({ op: "create", executeTime }) as const;
  const cancelled = answered(70, { state: "CANCELLED", points: 8, executeTime: soon });
  return [
    {
      id: "done",
      userId: "ann",
      points: 7,
      sent: [
        sent(create(soon), pending(40, soon)),
        sent({ op: "move", executeTime: 2 * soon }, pending(60, 2 * soon)),
        sent({ op: "cancel" }, refused(2 * soon + 10, "WRONG_STATE")),
      ],
    },
    {
      id: "cancelled",
      userId: "ann",
      points: 8,
      sent: [
        sent(create(soon), pending(40, soon)),
        sent({ op: "cancel" }, unanswered(50), cancelled),
      ],
    },
    { id: "unknown", userId: "ann", points: 9, sent: [sent(create(soon), unanswered(40))] },
  ];
}

const storedReservations = (): { readonly [id: string]: StoredReservation } => ({
  done: {
    userId: "ann",
    points: 7,
    state: "DONE",
    executeTime: 2 * soon,
    grant: { time: 2 * soon + 3, entryNumber: 3, dueSince: 2 * soon },
  },
  cancelled: { userId: "ann", points: 8, state: "CANCELLED", executeTime: soon },
});

/** One that was run, and one that was cancelled before. */
function bulkGrantsOf(): Record["bulkGrants"] {
  const sent = (op: BulkOp, ...attempts: Attempt[]) => ({ request: { op }, attempts });
  const rows = [{ userId: "ann", points: 5 }];
  const executeTime = 2 * soon;
  return [
    {
      id: "b-done",
      rows,
      executeTime,
      sent: [sent("submit", answered(50, {})), sent("approve", answered(500, {}))],
    },
    {
      id: "b-cancelled",
      rows,
      executeTime: undefined,
      sent: [sent("submit", answered(50, {})), sent("cancel", answered(90, {}))],
    },
  ];
}

function storedBulkGrants(): { readonly [id: string]: StoredBulkGrant } {
  const row = (state: string) => [{ userId: "ann", points: 5, state }];
  const counts = { grantedCount: 1, grantedPoints: 5, failedCount: 0, notRunCount: 0 };
  return {
    "b-done": {
      state: "DONE",
      endTime: 4 * soon,
      result: { ...counts, problemCounts: {} },
      rows: row("GRANTED"),
    },
    "b-cancelled": { state: "CANCELLED", rows: row("NOT_RUN") },
  };
}

/** Reactions, events and a mark-read, made by the use cases on a store in memory. */
async function feedsOf() {
  const { deps, store } = memoryDeps();
  const target = { type: "post", id: "p" };
  const like = (userId: string): Request => ({
    op: "react",
    target,
    kind: "like",
    userId,
    displayName: userId,
    exclusive: false,
    silent: false,
    coolDownMs: 0,
    regroupAfterMs: undefined,
  });
  const event = (eventId: string) => ({ service: "blog", eventId, target }) as const;
  const content = {
    userId: "dan",
    displayName: "dan",
    link: "",
    data: "",
    regroupAfterMs: undefined,
  };
  const notify = (id: string): Request => ({
    op: "notify",
    ...event(id),
    kind: eventsOf("comment"),
    ...content,
  });
  const reactions: Request[] = [
    like("ann"),
    like("bob"),
    { op: "unreact", target, kind: "like", userId: "bob" },
  ];
  const events: Request[] = [notify("e-1"), notify("e-2"), { op: "retract", ...event("e-2") }];
  const read: Request = { op: "read", target, kind: "like", generation: 1, version: 1 };
  const sent = async (request: Request) => ({
    ownerId: "owner",
    request,
    attempts: [answered(1, await answerTo(deps, "owner", request))],
  });
  await answerTo(deps, "owner", { op: "register", target, title: "" });
  const record = { reactions: [], events: [], reads: [] } as { [name: string]: unknown[] };
  for (const request of reactions) record.reactions?.push(await sent(request));
  record.reads?.push(await sent(read));
  for (const request of events) record.events?.push(await sent(request));
  record.reactions?.push(await sent(like("dan")), await sent(like("cat")));
  record.reactions?.push(await sent({ op: "unreact", target, kind: "like", userId: "dan" }));
  // It finds nobody: cat, who came later, has the notification that began with dan.
  record.reads?.push(await sent({ ...read, generation: 8, version: 8 }));
  const tables: State["tables"] = {
    reactions: itemsIn(store, "reactions"),
    notifications: itemsIn(store, "notifications"),
  };
  return { record, tables };
}

/** The items that a store in memory would have in a table. */
export const itemsIn = (store: Pick<MemoryStore, "dump">, table: Table): Item[] =>
  Object.entries(store.dump()).flatMap(([name, { value, version }]) => {
    const [, kind = "", id = ""] = /^([^#]+)#(.*)$/s.exec(name) ?? [];
    const ref = { kind: kind as Kind, id } as Ref;
    return value && codecOf(ref.kind).table === table ? [toItem(ref, value, version)] : [];
  });

export const ledger = ({ state }: Run, userId = "ann") => state.ledgers.get(userId) ?? [];
export const entry = (run: Run, number: number, userId = "ann") =>
  at(ledger(run, userId), number - 1);

/** An element of a list. Throws when the list has no such element. */
export const at = <T>(list: readonly T[], index: number): T => found(list.at(index));

/** The value. Throws when there is none. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the recorded run has no such thing");
  return value;
}
