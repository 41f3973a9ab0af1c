/** Tests that the texts of people are in events only where they are asked for. */
import { type DescField, type DescMessage, ScalarType, toJsonString } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { personalOf, withoutPersonal } from "../../../src/events/published/personal.ts";
import { toEvent } from "../../../src/events/published/to-event.ts";
import type { ChangedRecord } from "../../../src/events/rules/change-event.ts";
import { eventsOfStored } from "../../../src/events/rules/events-of.ts";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { EventSchema } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { eventsByType, eventTime, source } from "../../support/fixtures/events.ts";
import { largestRecords } from "../../support/fixtures/largest-records.ts";

const isText = (field: DescField): boolean =>
  (field.fieldKind === "scalar" && field.scalar === ScalarType.STRING) ||
  (field.fieldKind === "list" && field.scalar === ScalarType.STRING) ||
  (field.fieldKind === "map" && (field.scalar ?? field.mapKey) === ScalarType.STRING);

/** The fields of a message and of those in it that have texts, each once. */
function textFields(message: DescMessage, seen = new Set<string>()): DescField[] {
  if (seen.has(message.typeName) || message.typeName.startsWith("google.")) return [];
  seen.add(message.typeName);
  return message.fields.flatMap((field) => [
    ...(isText(field) || hasTextKeys(field) ? [field] : []),
    ...(field.message ? textFields(field.message, seen) : []),
  ]);
}

const hasTextKeys = (field: DescField): boolean =>
  field.fieldKind === "map" && field.mapKey === ScalarType.STRING;

const nameOf = (field: DescField): string =>
  `${field.parent.typeName.replace(/^meguri\./, "").replace(/\.v1/, "")}.${field.name}`;

test("of every text, somebody has decided whether it is personal", () => {
  const fields = textFields(EventSchema);
  const by = (isPersonal: boolean) =>
    fields
      .filter((field) => (personalOf(field) !== Personal.UNSPECIFIED) === isPersonal)
      .map(nameOf)
      .sort();
  expect(by(true)).toEqual(personal);
  expect(by(false)).toEqual(reviewed);
});

const personal: readonly string[] = [
  "events.BulkGrantChanged.title",
  "events.NotificationChanged.latest_display_name",
  "holds.Hold.reason",
  "points.LedgerEntry.reason",
  "reactions.Target.link",
  "reactions.Target.title",
  "reservations.Reservation.Change.reason",
  "reservations.Reservation.reason",
];

/** Ids, which events need; names of kinds and tables; and texts that Meguri itself has written. */
const reviewed: readonly string[] = [
  "access.Caller.service",
  "access.Caller.subject",
  "bulkgrants.CodeCount.code",
  "events.BalanceCrossed.program_id",
  "events.BalanceCrossed.user_id",
  "events.BulkGrantChanged.bulk_grant_id",
  "events.BulkGrantChanged.program_id",
  "events.ChangeUnreadable.item_key",
  "events.ChangeUnreadable.table",
  "events.EntryRecorded.program_id",
  "events.EntryRecorded.user_id",
  "events.Event.cause",
  "events.Event.id",
  "events.Event.program_id",
  "events.Event.source",
  "events.Event.subject",
  "events.Event.traceparent",
  "events.Event.type",
  "events.GapClosed.table",
  "events.GapFound.table",
  "events.NotificationChanged.kind",
  "events.NotificationChanged.latest_user_id",
  "events.NotificationChanged.notification_id",
  "events.NotificationChanged.owner_id",
  "events.ProgramChanged.program_id",
  "events.ProgramChanged.time_zone",
  "events.TargetChanged.event_counts",
  "events.TargetChanged.reaction_counts",
  "holds.Hold.cause",
  "holds.Hold.hold_id",
  "holds.Hold.program_id",
  "holds.Hold.user_id",
  "points.EventName.event_id",
  "points.LedgerEntry.MonthChange.month",
  "points.LedgerEntry.cause",
  "reactions.Target.owner_id",
  "reactions.TargetName.id",
  "reactions.TargetName.type",
  "reservations.Reservation.Failure.message",
  "reservations.Reservation.Failure.reason",
  "reservations.Reservation.cause",
  "reservations.Reservation.expire_month",
  "reservations.Reservation.program_id",
  "reservations.Reservation.reservation_id",
  "reservations.Reservation.user_id",
];

const texts: Readonly<Record<string, readonly Personal[]>> = {
  "a birthday": [Personal.REASON],
  "a later date": [Personal.REASON],
  "CHO Tanaka": [Personal.DISPLAY_NAME],
  "A cat": [Personal.TEXT],
  "/posts/1": [Personal.TEXT],
  Spring: [Personal.TEXT],
};

test.each(Object.entries(texts))("%s is left out unless it is asked for", (text, [kind]) => {
  const shown = (include: readonly Personal[]) =>
    [...eventsByType.values()]
      .map((event) => toJsonString(EventSchema, withoutPersonal(event, include)))
      .some((json) => json.includes(`"${text}"`));
  expect(shown([])).toBe(false);
  const all = [Personal.REASON, Personal.DISPLAY_NAME, Personal.TEXT];
  for (const each of all) expect(shown([each])).toBe(each === kind);
  expect(shown(all)).toBe(true);
});

test("an event itself keeps its texts, and nothing else of it is cleared", () => {
  for (const event of eventsByType.values()) {
    const before = toJsonString(EventSchema, event);
    const all = [Personal.REASON, Personal.DISPLAY_NAME, Personal.TEXT];
    expect(toJsonString(EventSchema, withoutPersonal(event, all))).toBe(before);
    withoutPersonal(event, []);
    expect(toJsonString(EventSchema, event)).toBe(before);
  }
});

test("the largest records are events without texts", () => {
  const kinds = ["entry", "reservation", "hold", "bulkGrant", "target", "unreadGroup", "readGroup"];
  const found = largestRecords.filter(([, { kind }]) => kinds.includes(kind));
  expect(found.length).toBeGreaterThanOrEqual(5);
  for (const [, ref, value] of found) {
    const record = { ...ref, value, version: 1 } as ChangedRecord;
    for (const each of eventsOfStored(record, eventTime, () => undefined)) {
      const event = withoutPersonal(toEvent(each, source), []);
      expect(event.id.length).toBeLessThanOrEqual(2_048);
      expect(toJsonString(EventSchema, event)).not.toMatch(/"(reason|title|link)":"[^"]{9}/);
    }
  }
});
