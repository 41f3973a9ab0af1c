/**
 * A consumer's copy of everything, built from events alone by a reader that has them from the
 * beginning. It notes whatever the contract excludes: holes, one change under two ids, two contents
 * under one id, an order that goes back. It uses none of the code that makes the events.
 */
import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import type { StreamedTable } from "../../../src/events/ports/changes.ts";
import {
  type BalanceCrossed,
  type Event,
  EventSchema,
} from "../../../src/gen/meguri/events/v1/event_pb.ts";
import type { LedgerEntry } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { type Change, changeOf } from "./changes.ts";

/** Where the copy is with one record. */
interface Followed {
  /** The number of its latest change. */
  number: number;
  /** Older changes up to this number may come late: the table has told of a newer one in a gap. */
  toldInGap: number;
  /** The data of its latest event, as JSON. */
  data: JsonObject;
}

/** What an event has said when it came first. */
interface First {
  readonly digest: string;
  /** The digest of what a table can say of it: not when, and of a notification not what changed. */
  readonly stateDigest: string;
  /** Whether it may have come in a gap from such a table. */
  readonly isInGap: boolean;
}

/** The tables whose records do not say when they have changed. */
const withoutTimes: ReadonlySet<StreamedTable> = new Set(["reactions", "notifications"]);

/** A gap that has been found and not been closed. */
interface OpenGap {
  /** The ids of the events that were sent for it. */
  readonly ids: Set<string>;
}

export class EventCopy {
  /** What is wrong, each in a sentence that begins with the id of an event. */
  readonly faults: string[] = [];
  /** The numbers of different events, and of those that came again. */
  readonly counts = { events: 0, repeated: 0, gaps: 0 };
  /** The entries of each account that has any, by the name of the account. */
  readonly ledgers = new Map<string, LedgerEntry[]>();
  readonly crossings = new Map<string, BalanceCrossed[]>();
  readonly records = new Map<string, Followed>();
  /** The notifications of which a gap may hide that they are gone. */
  readonly doubtful = new Set<string>();
  /** The first event of each id, and the id by its change. */
  readonly #firsts = new Map<string, First>();
  readonly #ids = new Map<string, string>();
  readonly #subjects = new Map<string, string>();
  readonly #gaps = new Map<string, OpenGap>();
  readonly #hasOrderedGaps: boolean;
  #source: string | undefined;

  /**
   * A subscription has no ordered gaps, because it delivers each subject by itself: nothing says
   * whether a leap of a record is within a gap.
   */
  constructor({ hasOrderedGaps = true } = {}) {
    this.#hasOrderedGaps = hasOrderedGaps;
  }

  /** The ids of all events that have come. */
  ids = (): ReadonlySet<string> => new Set(this.#firsts.keys());

  /** The tables with a gap that has been found and not been closed. */
  openGaps = (): readonly string[] => [...this.#gaps.keys()];

  /** Takes the next event. */
  add(event: Event): void {
    const fault = (what: string) => this.faults.push(`${event.id}: ${what}`);
    const change = changeOf(event);
    if (change) this.#gaps.get(change.table)?.ids.add(event.id);
    const told = this.#told(event, change);
    const first = this.#firsts.get(event.id);
    if (first) {
      this.counts.repeated += 1;
      const compared = first.isInGap || told.isInGap ? "stateDigest" : "digest";
      if (first[compared] !== told[compared]) fault("came again with another content");
      return;
    }
    this.#firsts.set(event.id, told);
    this.counts.events += 1;
    this.#checkNames(event, change, fault);
    if (!change) this.#addNotice(event, fault);
    else if (!this.#isOtherId(event, change, fault)) this.#addChange(event, change, fault);
  }

  #told(event: Event, change: Change | undefined): First {
    const isInGap =
      change !== undefined &&
      (change.record.startsWith("program ") || withoutTimes.has(change.table)) &&
      this.#isGap(change.table);
    const { time: _, type, ...rest } = event;
    const state = { ...rest, type: change?.table === "notifications" ? "" : type };
    return { digest: digestOf(event), stateDigest: digestOf(state), isInGap };
  }

  /** Whether an event of a table may have come in a gap. */
  #isGap = (table: StreamedTable): boolean => this.#gaps.has(table) || !this.#hasOrderedGaps;

  /** Checks the attributes that follow from the data. */
  #checkNames({ id, source, subject, type }: Event, change: Change | undefined, fault: Fault) {
    this.#source ??= source;
    if (source !== this.#source) fault(`is of ${source}, the ones before of ${this.#source}`);
    if (!change) return;
    if (!id.startsWith(`${subject}/`)) fault(`is of the subject ${subject}`);
    if (!change.types.includes(type)) fault(`is ${type}, not ${change.types.join(" or ")}`);
    const known = this.#subjects.get(subject) ?? change.record;
    this.#subjects.set(subject, known);
    const isOwner = change.table === "notifications";
    if (!isOwner && known !== change.record) fault(`${subject} was ${known}, now ${change.record}`);
  }

  /** Whether this change has come under another id. */
  #isOtherId({ id }: Event, { record, number, part }: Change, fault: Fault): boolean {
    const name = `${record} ${number} ${part}`;
    const first = this.#ids.get(name);
    if (first !== undefined) fault(`is the same change as ${first}`);
    else this.#ids.set(name, id);
    return first !== undefined;
  }

  #addNotice({ data }: Event, fault: Fault): void {
    if (data.case === "gapFound") {
      const { table } = data.value;
      if (this.#gaps.has(table)) fault("the gap before is still open");
      this.#gaps.set(table, { ids: new Set() });
      this.counts.gaps += 1;
      if (table !== "notifications") return;
      for (const record of this.records.keys()) {
        if (record.startsWith("notification ")) this.doubtful.add(record);
      }
    } else if (data.case === "gapClosed") {
      const { table, eventCount } = data.value;
      const sent = this.#gaps.get(table)?.ids.size;
      if (sent === undefined) fault("no gap was open");
      else if (this.#hasOrderedGaps && Number(eventCount) !== sent) {
        fault(`${sent} events were sent for it`);
      }
      this.#gaps.delete(table);
    } else {
      fault(data.case === "changeUnreadable" ? data.value.itemKey : `has the data ${data.case}`);
    }
  }

  /** Takes the next change of a record. */
  #addChange(event: Event, change: Change, fault: Fault): void {
    const { data } = event;
    const { record, number, table } = change;
    if (data.case === "balanceCrossed") {
      const all = this.crossings.get(record) ?? [];
      this.crossings.set(record, [...all, data.value]);
      return;
    }
    const followed = this.records.get(record) ?? { number: 0, toldInGap: 0, data: {} };
    this.records.set(record, followed);
    this.doubtful.delete(record);
    if (number < followed.number) {
      const mayBeLate = change.order === "any" || number <= followed.toldInGap;
      if (!mayBeLate) fault(`comes after number ${followed.number}`);
      return;
    }
    const isGap = this.#isGap(table);
    const mayLeap = change.order === "any" || (isGap && data.case !== "entryRecorded");
    if (number !== followed.number + 1 && !mayLeap) {
      fault(`number ${followed.number + 1} is missing before it`);
    }
    // Of two notifications with the same number, the one that is gone is the latest.
    if (number === followed.number && change.part !== "gone") return;
    followed.number = number;
    if (isGap) followed.toldInGap = number;
    if (data.case !== "entryRecorded") followed.data = jsonOf(data, event.id);
    else if (data.value.entry) this.#addEntry(record, data.value.entry, fault);
  }

  #addEntry(account: string, entry: LedgerEntry, fault: Fault): void {
    const ledger = this.ledgers.get(account) ?? [];
    this.ledgers.set(account, ledger);
    const moved = entry.monthChanges.reduce((sum, { points }) => sum + points, 0n);
    const before = ledger.at(-1)?.availablePoints ?? 0n;
    const isNext = (ledger.at(-1)?.number ?? 0n) + 1n === entry.number;
    if (isNext && before + moved !== entry.availablePoints) {
      fault(`has ${entry.availablePoints} points, and ${before + moved} by its changes`);
    }
    ledger.push(entry);
  }
}

type Fault = (what: string) => void;

/** The data of an event as JSON. */
function jsonOf(data: Event["data"], id: string): JsonObject {
  const { [data.case ?? ""]: value } = toJson(EventSchema, {
    $typeName: "meguri.events.v1.Event",
    ...{ id, type: "", source: "", subject: "", programId: "", traceparent: "", cause: "" },
    data,
  }) as JsonObject;
  return (value ?? {}) as JsonObject;
}

/** The same for two events that differ only in the order of the keys of a map. */
const digestOf = (event: Event): string =>
  createHash("sha256")
    .update(textOf(toJson(EventSchema, event)))
    .digest("base64");

const textOf = (value: JsonValue): string =>
  JSON.stringify(value, (_, part: JsonValue) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
