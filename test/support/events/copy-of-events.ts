/** A consumer's copy of what events tell, and the same of the tables, so that they are compared. */
import type { StoredRecord } from "../../../src/events/ports/changes.ts";
import type { ChangeEvent, EventData } from "../../../src/events/rules/change-event.ts";
import { eventsOfStored } from "../../../src/events/rules/events-of.ts";

/** What a consumer keeps of each subject, with a number that only grows. */
type Copy = Map<string, { readonly order: number; readonly value: unknown }>;

/** Adds events to a copy. One that is older than what the copy has changes nothing. */
export function addToCopy(copy: Copy, events: readonly ChangeEvent[]): Copy {
  for (const { data } of events) {
    const told = toldBy(data);
    if (!told) continue;
    const [name, order, value] = told;
    if ((copy.get(name)?.order ?? -1) < order) copy.set(name, { order, value });
  }
  return copy;
}

function toldBy(data: EventData): [name: string, order: number, value: unknown] | undefined {
  switch (data.kind) {
    case "entry":
      return [`${data.programId}/${data.userId}/${data.entry.number}`, 0, data.entry];
    case "reservation":
      return [`reservation/${data.value.reservationId}`, data.version, data.value];
    case "hold":
      return [`hold/${data.value.holdId}`, data.version, data.value];
    case "bulkGrant":
      return [`bulk/${data.value.bulkGrantId}`, data.version, data.value];
    case "target":
      return [`target/${data.value.id}`, data.version, data.value];
    case "program":
      return [`program/${data.value.programId}`, data.version, data.value];
    case "notification": {
      const { kind, target, generation } = data.group;
      const name = `line/${data.ownerId}/${kind}/${target.id}/${generation}`;
      return [name, data.version, { group: data.group, readTime: data.readTime }];
    }
    default:
      return undefined;
  }
}

/** The copy of a consumer who has seen these records, and no limits. */
export const copyOfRecords = (records: readonly StoredRecord[]): Copy =>
  addToCopy(
    new Map(),
    records.flatMap((record) => eventsOfStored(record, 0, () => undefined)),
  );

/** A line that is gone leaves nothing in the tables, so a copy may still have it. */
export const withoutGoneLines = (copy: Copy, tables: Copy): Copy =>
  new Map([...copy].filter(([name]) => tables.has(name) || !name.startsWith("line/")));
