/** Tests for how long an event is known, listed and stored, and what is done without its row. */
import { expect, test } from "vitest";
import { eventActorRef, notificationEventRef } from "../../../../src/feed/ports/records.ts";
import { noTarget } from "../../../../src/feed/rules/event.ts";
import {
  dismissNotification,
  markNotificationRead,
} from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { toItem } from "../../../../src/store/codecs.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const name = { ownerId, target: noTarget, kind: "~comment" };
const caller = asService("blog");
const dayMs = 24 * 3_600_000;

function createLine() {
  const { deps, clock, store } = memoryDeps();
  const start = clock.time;
  return {
    start,
    store,
    goToDay(day: number) {
      clock.time = start + day * dayMs;
    },
    report: async (eventId: string, userId = eventId) => {
      const content = { eventId, kind: "comment", actor: { userId, displayName: userId } };
      const [result] = await notify(deps, { ...content, ownerIds: [ownerId], caller });
      return result;
    },
    retract: (eventId: string) => retractEvent(deps, { eventId, ownerIds: [ownerId], caller }),
    readUpTo: (version: number) => markNotificationRead(deps, { ...name, generation: 1, version }),
    dismiss: (version: number) => dismissNotification(deps, { ...name, generation: 1, version }),
    /** `4 events of 2: e4 e3 e2`, with the latest events that have their rows. */
    async list(state: "UNREAD" | "READ") {
      const filter = { ownerId, state, kinds: [] };
      const { items } = await listNotifications(deps, filter, { size: 10, cursor: undefined });
      return items.map(({ eventCount, actorCount, latestEvents }) => {
        const latest = latestEvents.map(({ eventId }) => eventId).join(" ");
        return `${eventCount} events of ${actorCount}: ${latest}`;
      });
    },
    version: async () => (await inboxOf(deps, ownerId)).version,
    /** Deletes the rows of events, as DynamoDB does after their time. */
    deleteRows(...events: [userId: string, version: number][]) {
      for (const [userId, version] of events) {
        store.force(notificationEventRef(name, userId, version), undefined);
      }
    },
  };
}

test("an event is retracted for as long as its read line is listed", async () => {
  const { goToDay, report, retract, readUpTo, list } = createLine();
  await report("e1");
  goToDay(30);
  await readUpTo(1);
  goToDay(91);
  expect(await list("READ")).toEqual(["1 events of 1: e1"]);
  expect(await retract("e1")).toMatchObject([{ changed: true }]);
  expect(await list("READ")).toEqual([]);
});

test("an event that was read late is listed longer than it can be retracted", async () => {
  const { goToDay, report, retract, readUpTo, list, dismiss } = createLine();
  await report("e1");
  goToDay(100);
  await readUpTo(1);
  goToDay(180);
  expect(await list("READ")).toEqual(["1 events of 1: e1"]);
  await expect(retract("e1")).rejects.toMatchObject({ reason: "EVENT_NOT_FOUND" });
  goToDay(189);
  await dismiss(1);
  expect(await list("READ")).toEqual([]);
});

test("an event of an old line is the same one again, until twice the history is over", async () => {
  const { goToDay, report, retract, list } = createLine();
  await report("e1");
  await report("e2");
  for (const day of [91, 179]) {
    goToDay(day);
    expect(await report("e1")).toMatchObject({ notified: true, replayed: true });
    expect(await list("UNREAD")).toEqual(["2 events of 2: e2 e1"]);
  }
  goToDay(180);
  await expect(retract("e1")).rejects.toMatchObject({ reason: "EVENT_NOT_FOUND" });
});

test("the rows of an event and its actor are stored a day longer than its id", async () => {
  const { start, store, report } = createLine();
  await report("e1", "ann");
  const records = store.dump();
  for (const ref of [notificationEventRef(name, "ann", 1), eventActorRef(name, "ann")]) {
    const stored = records[`${ref.kind}#${ref.id}`];
    const { ttl } = toItem(ref, stored?.value as never, 1);
    expect(ttl).toEqual({ N: String((start + 181 * dayMs) / 1_000) });
  }
});

test("events without a row count as read where a line is divided", async () => {
  const { goToDay, report, readUpTo, list, deleteRows } = createLine();
  for (let i = 1; i <= 8; i++) await report(`e${i}`, `u${i}`);
  goToDay(182);
  deleteRows(["u3", 3], ["u4", 4], ["u6", 6]);
  await readUpTo(5);
  expect(await list("READ")).toEqual(["6 events of 6: e5 e2 e1"]);
  expect(await list("UNREAD")).toEqual(["2 events of 2: e8 e7"]);
});

test("events that a line names stay unread, though their rows are deleted", async () => {
  const { goToDay, report, readUpTo, list, deleteRows } = createLine();
  for (let i = 1; i <= 8; i++) await report(`e${i}`, `u${i}`);
  goToDay(182);
  for (let i = 1; i <= 8; i++) deleteRows([`u${i}`, i]);
  await readUpTo(6);
  expect(await list("READ")).toEqual(["6 events of 6: "]);
  expect(await list("UNREAD")).toEqual(["2 events of 2: "]);
});

test("an event whose row is deleted is retracted, and leaves no line", async () => {
  const { report, retract, list, version, deleteRows } = createLine();
  await report("e1");
  await report("e2");
  deleteRows(["e1", 1]);
  expect(await retract("e1")).toMatchObject([{ changed: true }]);
  expect(await list("UNREAD")).toEqual(["2 events of 2: e2"]);
  expect(await version()).toBe(3);
  expect(await report("e1")).toMatchObject({ replayed: true, retracted: true });
  expect(await retract("e1")).toMatchObject([{ changed: false }]);
});
