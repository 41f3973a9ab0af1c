/** Tests which events a reader gets that is limited to programs and types. */
import { expect, test } from "vitest";
import { isWanted } from "../../../src/events/published/filter.ts";
import type { EventType } from "../../../src/events/rules/event-types.ts";
import type { Event } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { eventsByType } from "../../support/fixtures/events.ts";

const of = (type: EventType) => eventsByType.get(type) as Event;

test("without limits all events are wanted", () => {
  const wanted = [...eventsByType.values()].filter((event) => isWanted(event, { types: [] }));
  expect(wanted).toHaveLength(eventsByType.size);
});

test("a reader of programs gets theirs, and is told of gaps", () => {
  const own = { programIds: ["default"], types: [] };
  expect(isWanted(of("points.used"), own)).toBe(true);
  expect(isWanted(of("points.used"), { ...own, programIds: ["cafe"] })).toBe(false);
  expect(isWanted(of("target.changed"), own)).toBe(false);
  expect(isWanted(of("notification.began"), own)).toBe(false);
  expect(isWanted(of("events.gap_found"), own)).toBe(true);
  expect(isWanted(of("events.gap_closed"), own)).toBe(true);
  // Its key may name a user of another program.
  expect(isWanted(of("events.change_unreadable"), own)).toBe(false);
});

test("a reader of types gets these only", () => {
  const used = { types: ["points.used", "events.gap_found"] };
  expect(isWanted(of("points.used"), used)).toBe(true);
  expect(isWanted(of("events.gap_found"), used)).toBe(true);
  expect(isWanted(of("points.issued"), used)).toBe(false);
  expect(isWanted(of("events.gap_closed"), used)).toBe(false);
});
