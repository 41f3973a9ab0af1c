/** Counts billable actions in the recorded histories, and compares them with the constants. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { actions, bulkGrantActions, idleDayActions } from "../../tools/capacity/actions.ts";
import { reconcilerTiming, steps } from "../../workflows/timing.ts";
import { billableActions, type History } from "../support/fixtures/billable-actions.ts";
import { historiesFolder } from "../support/fixtures/record-histories.ts";

const eventsOf = (name: string): History["events"] =>
  JSON.parse(readFileSync(`${historiesFolder}/${name}.history.json`, "utf8")).events;

const countOf = (name: string) => billableActions(eventsOf(name));

test("a reservation that has slept and was granted costs what the constants say", () => {
  const [start, ...whenDue] = eventsOf("reservation-slept");
  expect(start?.workflowExecutionStartedEventAttributes?.firstWorkflowTaskBackoff).not.toBe("0s");
  expect(billableActions(whenDue)).toBe(actions.reservationDue);
  expect(countOf("reservation-slept")).toBe(actions.reservation);
  expect(countOf("reservation-done")).toBe(actions.reservation);
  expect(countOf("reservation-cancelled")).toBe(actions.cancelledReservation);
});

test("a bulk grant costs the constant and its steps over blocks", () => {
  const events = eventsOf("bulk-grant-approved");
  const onBlocks = ["validateBlocks", "runBlocks"];
  expect(billableActions(events, onBlocks)).toBe(actions.bulkGrant);
  const stepsOverBlocks = billableActions(events) - actions.bulkGrant;
  expect(stepsOverBlocks).toBe(2);
  const heartbeats = steps.limitMs / steps.sentMs;
  expect(bulkGrantActions(250, 100)).toBe(actions.bulkGrant + stepsOverBlocks * (1 + heartbeats));
  // Four ranges, for which 100 rows a second take 100 s, or five steps; their check takes one.
  expect(bulkGrantActions(10_000, 100)).toBe(actions.bulkGrant + 4 * (1 + 5) * (1 + heartbeats));
});

test("what schedules start costs what the constants say", () => {
  expect(countOf("month-end")).toBe(actions.monthEnd);
  expect(countOf("expiry-notices")).toBe(actions.expiryNotices);
  expect(countOf("pick-up-sheets-none")).toBe(actions.emptyPickUp);
  // The start of the run is the one of all its passes.
  expect(countOf("reconciler") - 1).toBe(actions.reconcilerPass);
});

test("an idle day has the passes of the reconciler, and a share of the month", () => {
  const none = { programs: 0, withNotices: 0, pickUps: 0 };
  const { reconciler, ...others } = idleDayActions(none);
  const passes = 86_400_000 / reconcilerTiming.intervalMs;
  const runs = 86_400_000 / reconcilerTiming.runMs;
  expect(reconciler).toBeCloseTo(passes * actions.reconcilerPass + runs);
  expect(others).toEqual({ monthEnds: 0, expiryNotices: 0, pickUps: 0 });
  const year = 365 / 12;
  const month = idleDayActions({ programs: 3, withNotices: 2, pickUps: 24 });
  expect(month.reconciler).toBe(reconciler);
  expect(month.monthEnds * year).toBeCloseTo(3 * 2 * (actions.monthEnd + 2));
  expect(month.expiryNotices * year).toBeCloseTo(2 * (actions.expiryNotices + 2));
  expect(month.pickUps).toBe(24 * (actions.emptyPickUp + 2));
});
