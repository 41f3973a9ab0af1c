/** The events of a change of the store. */
import { finalStates } from "../../bulk-grants/rules/bulk-grant.ts";
import { type BalanceLimits, noLimits } from "../../points/rules/balance-limits.ts";
import type { EntryType } from "../../points/rules/ledger.ts";
import type { Change, ChangedRecord, ChangeEvent, RecordOf } from "./change-event.ts";
import { crossingsOf } from "./crossings.ts";
import { path } from "./event-ids.ts";
import type { EventType } from "./event-types.ts";
import { changeUnreadable } from "./notices-of-log.ts";
import { isGroup, notificationChanged, notificationEvents } from "./notification-events.ts";

/** The limits of a program whose crossings are events; undefined for none. */
export type LimitsOf = (programId: string) => BalanceLimits | undefined;

/**
 * The events of one change, in the order in which they are appended. An entry comes before its
 * crossings. Those of notifications which are gone are to be checked by `withoutMoved`.
 */
export function eventsOf(change: Change, limitsOf: LimitsOf): readonly ChangeEvent[] {
  const { table, time, before, after, unreadable } = change;
  if (unreadable !== undefined) return [changeUnreadable(table, unreadable, time)];
  const groups = [before[0], after[0]].filter((record) => record !== undefined).filter(isGroup);
  if (groups.length > 0)
    return notificationEvents(change, before.find(isGroup), after.find(isGroup));
  const known = new Map(before.map((record) => [record.id, record]));
  return after.flatMap((record) => recordEvents(record, known.get(record.id), time, limitsOf));
}

/**
 * The events of a record as a table has it, when its changes are lost. They have the ids of the
 * last of these changes. Their types may be less exact, because nobody knows what was before.
 */
export const eventsOfStored = (
  record: ChangedRecord,
  time: ChangeEvent["time"],
  limitsOf: LimitsOf,
): readonly ChangeEvent[] =>
  isGroup(record)
    ? [notificationChanged(record, time)]
    : recordEvents(record, undefined, time, limitsOf);

function recordEvents(
  record: ChangedRecord,
  before: ChangedRecord | undefined,
  time: ChangeEvent["time"],
  limitsOf: LimitsOf,
): readonly ChangeEvent[] {
  switch (record.kind) {
    case "entry":
      // An item of a ledger is written again only to remove a wrong snapshot.
      return before ? [] : entryEvents(record, limitsOf);
    case "reservation":
      return [reservationEvent(record)];
    case "hold":
      return [holdEvent(record)];
    case "bulkGrant":
      return [bulkGrantEvent(record, before, time)];
    case "target":
      return [targetEvent(record, time)];
    case "program":
      return [programEvent(record, time)];
    default:
      return [];
  }
}

const entryTypes: Readonly<Record<EntryType, EventType>> = {
  ISSUED: "points.issued",
  USED: "points.used",
  EXPIRED: "points.expired",
  REFUNDED: "points.refunded",
  REVOKED: "points.revoked",
  FROZEN: "points.frozen",
  UNFROZEN: "points.unfrozen",
  HELD: "points.held",
  CAPTURED: "points.captured",
  RELEASED: "points.released",
  EXTENDED: "points.extended",
};

function entryEvents({ id, value: entry }: RecordOf<"entry">, limitsOf: LimitsOf): ChangeEvent[] {
  const [programId = "", userId = ""] = id.split("#");
  const subject = path("points", programId, userId);
  const entryId = `${subject}/${entry.number}`;
  const { number: entryNumber, createTime: time, cause } = entry;
  const shared = { subject, time, programId, cause };
  const crossings = crossingsOf(entry, limitsOf(programId) ?? noLimits);
  return [
    {
      ...shared,
      id: entryId,
      type: entryTypes[entry.type],
      data: { kind: "entry", programId, userId, entry },
    },
    ...crossings.map(
      (crossing): ChangeEvent => ({
        ...shared,
        id: `${entryId}/${crossing.direction.toLowerCase()}/${crossing.limit}`,
        type: "points.balance_crossed",
        data: { kind: "crossing", programId, userId, entryNumber, ...crossing },
      }),
    ),
  ];
}

function reservationEvent({ value, version }: RecordOf<"reservation">): ChangeEvent {
  const { programId, reservationId, state, updateTime: time, traceparent, cause } = value;
  const pending = version === 1 ? "reservation.created" : "reservation.changed";
  const types = {
    PENDING: pending,
    DONE: "reservation.done",
    FAILED: "reservation.failed",
    CANCELLED: "reservation.cancelled",
  } as const;
  const subject = path("reservations", programId, reservationId);
  const data = { kind: "reservation", version, value } as const;
  const id = `${subject}/${version}`;
  return { id, type: types[state], subject, time, programId, traceparent, cause, data };
}

function holdEvent({ value, version }: RecordOf<"hold">): ChangeEvent {
  const { programId, holdId, state, updateTime: time, cause } = value;
  const types = {
    HELD: version === 1 ? "hold.created" : "hold.captured",
    CAPTURED: "hold.captured",
    RELEASED: "hold.released",
    EXPIRED: "hold.expired",
  } as const;
  const subject = path("holds", programId, holdId);
  const data = { kind: "hold", version, value } as const;
  return { id: `${subject}/${version}`, type: types[state], subject, time, programId, cause, data };
}

/**
 * It ends when it comes to a final state. What is noted of it afterwards is a change, which like a
 * reminder leaves its update time as it is.
 */
function bulkGrantEvent(
  { value, version }: RecordOf<"bulkGrant">,
  before: ChangedRecord | undefined,
  changeTime: ChangeEvent["time"],
): ChangeEvent {
  const { programId, bulkGrantId, state, updateTime, revision } = value;
  const previous = before?.kind === "bulkGrant" ? before.value : undefined;
  const wasSame = previous?.state === state;
  const time = previous?.updateTime === updateTime ? changeTime : updateTime;
  const type = finalStates.has(state) && !wasSame ? "bulk_grant.ended" : "bulk_grant.changed";
  const subject = path("bulk_grants", programId, bulkGrantId);
  const data = { kind: "bulkGrant", version, value } as const;
  const { cause } = revision;
  return { id: `${subject}/${version}`, type, subject, time, programId, cause, data };
}

function targetEvent(
  { value, version }: RecordOf<"target">,
  time: ChangeEvent["time"],
): ChangeEvent {
  const type = value.deleteTime === undefined ? "target.changed" : "target.deleted";
  const subject = path("targets", value.type, value.id);
  const data = { kind: "target", version, value } as const;
  return { id: `${subject}/${version}`, type, subject, time, data };
}

function programEvent(
  { value, version }: RecordOf<"program">,
  time: ChangeEvent["time"],
): ChangeEvent {
  const { programId } = value;
  const subject = path("programs", programId);
  const data = { kind: "program", version, value } as const;
  return { id: `${subject}/${version}`, type: "program.changed", subject, time, programId, data };
}
