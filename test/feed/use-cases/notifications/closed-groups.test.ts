/** Tests that closed groups are found, counted and ended wherever a person or a target leaves. */
import { expect, test } from "vitest";
import { closedGroupsRef } from "../../../../src/feed/ports/records.ts";
import { maxClosedGroups } from "../../../../src/feed/rules/closed-group.ts";
import { eventKind } from "../../../../src/feed/rules/kinds.ts";
import { blockPerson } from "../../../../src/feed/use-cases/notifications/block-person.ts";
import {
  dismissNotification,
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationUnread,
} from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import {
  getNotification,
  listNotifications,
} from "../../../../src/feed/use-cases/notifications/queries.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { deleteTarget, registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { allItems } from "../../../support/fixtures/pages.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "post", id: "1" };
const regroupAfterMs = 60_000;
const caller = asService("blog");

async function createPost() {
  const { deps, clock, store } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  const nameOf = (generation: number, kind = "like") => ({ ownerId, target, kind, generation });
  const list = async (state: "UNREAD" | "READ") => {
    const filter = { ownerId, state, kinds: [] };
    const found = await allItems((page) => listNotifications(deps, filter, page));
    return found.map(({ id, latestMembers, actorCount }) => {
      const latest = latestMembers.map(({ userId }) => userId).join(" ");
      return `${id.generation}: ${latest} (${actorCount})`;
    });
  };
  return {
    deps,
    store,
    nameOf,
    like: (userId: string) =>
      react(deps, { target, kind: "like", userId, displayName: userId, regroupAfterMs }),
    unlike: (userId: string) => unreact(deps, { target, kind: "like", userId }),
    report: (eventId: string, userId = eventId) => {
      const content = { eventId, kind: "comment", actor: { userId, displayName: userId } };
      return notify(deps, { ...content, target, caller, regroupAfterMs });
    },
    wait(ms = 2 * regroupAfterMs) {
      clock.time += ms;
    },
    unread: () => list("UNREAD"),
    read: () => list("READ"),
    badge: async () => {
      const { notificationCount, closedCount, actorCount } = await inboxOf(deps, ownerId);
      return `${actorCount} in ${notificationCount}, ${closedCount} closed`;
    },
  };
}

test("who leaves a closed notification comes back to it while somebody is in it", async () => {
  const { like, unlike, wait, unread, badge } = await createPost();
  await like("ann");
  await like("ben");
  wait();
  await like("cho");
  await unlike("ann");
  expect(await unread()).toEqual(["3: cho (1)", "1: ben (1)"]);
  await like("ann");
  expect(await unread()).toEqual(["3: cho (1)", "1: ben ann (2)"]);
  await unlike("ann");
  await unlike("ben");
  expect(await badge()).toBe("1 in 1, 0 closed");
  await unlike("cho");
  await like("ben");
  // Nothing that has been closed begins anew.
  expect(await unread()).toEqual(["9: ben (1)"]);
});

test("who left before the notification was closed does not begin it anew either", async () => {
  const { like, unlike, wait, unread } = await createPost();
  await like("ann");
  await like("ben");
  await unlike("ann");
  wait();
  await like("cho");
  await unlike("ben");
  await unlike("cho");
  await like("ann");
  expect(await unread()).toEqual(["7: ann (1)"]);
});

test("who left what was read since does not come back after a mark of an older one", async () => {
  const { deps, nameOf, like, unlike, wait, unread, read } = await createPost();
  await like("ann");
  await like("ben");
  wait();
  await like("cho");
  await like("dan");
  await unlike("cho");
  await markNotificationRead(deps, { ...nameOf(3), version: 5 });
  await markNotificationRead(deps, { ...nameOf(1), version: 1 });
  await like("cho");
  expect(await unread()).toEqual(["8: cho (1)", "2: ben (1)"]);
  expect(await read()).toEqual(["3: dan (1)", "1: ann (1)"]);
});

test("who leaves the open notification comes back after a mark of a closed one", async () => {
  const { deps, nameOf, like, unlike, wait, unread } = await createPost();
  await like("ann");
  wait();
  await like("ben");
  await markNotificationRead(deps, { ...nameOf(1), version: 1 });
  await unlike("ben");
  await like("ben");
  expect(await unread()).toEqual(["2: ben (1)"]);
  await markNotificationUnread(deps, nameOf(1));
  await unlike("ben");
  await dismissNotification(deps, { ...nameOf(1), version: 7 });
  await like("ben");
  expect(await unread()).toEqual(["2: ben (1)"]);
});

test("of many members the next ones of a closed notification are shown", async () => {
  const { like, unlike, wait, unread } = await createPost();
  for (let i = 1; i <= 10; i++) await like(`u${i}`);
  wait();
  for (const userId of ["ann", "ben"]) await like(userId);
  await unlike("u10");
  expect(await unread()).toEqual(["11: ben ann (2)", "1: u9 u8 u7 (9)"]);
});

test("a mark of everything, or by name, reads closed ones and divides them", async () => {
  const { deps, nameOf, like, wait, unread, read, badge } = await createPost();
  for (const userId of ["ann", "ben", "cho"]) await like(userId);
  wait();
  await like("dan");
  await markNotificationRead(deps, { ...nameOf(1), version: 2 });
  expect(await unread()).toEqual(["4: dan (1)", "3: cho (1)"]);
  expect(await read()).toEqual(["1: ben ann (2)"]);
  wait();
  await like("eve");
  expect(await badge()).toBe("3 in 3, 2 closed");
  const all = await markAllNotificationsRead(deps, { ownerId, version: 100 });
  expect(all).toMatchObject({ markedCount: 3, inbox: { closedCount: 0, actorCount: 0 } });
  expect(await read()).toEqual(["6: eve (1)", "4: dan (1)", "3: cho (1)", "1: ben ann (2)"]);
  expect(await deps.reader.get(closedGroupsRef(ownerId, target))).toBeUndefined();
});

test("a notification that is closed while everything is marked is read, too", async () => {
  const { deps, like, wait, unread, read } = await createPost();
  await like("ann");
  wait();
  let isFirst = true;
  const engine: typeof deps.engine = {
    async transact(request) {
      if (isFirst) {
        isFirst = false;
        await like("ben");
      }
      return deps.engine.transact(request);
    },
  };
  await markAllNotificationsRead({ ...deps, engine }, { ownerId, version: 1 });
  expect(await unread()).toEqual(["2: ben (1)"]);
  expect(await read()).toEqual(["1: ann (1)"]);
});

test("what is unread again has its name, takes in nobody, and is read as a whole", async () => {
  const { deps, nameOf, like, unlike, unread, read, badge } = await createPost();
  for (const userId of ["ann", "ben", "cho"]) await like(userId);
  await markNotificationRead(deps, { ...nameOf(1), version: 3 });
  await unlike("ann");
  expect(await markNotificationUnread(deps, nameOf(1))).toMatchObject({ changed: true });
  expect(await markNotificationUnread(deps, nameOf(1))).toMatchObject({ changed: false });
  await like("dan");
  // Who had left before is still counted, and who leaves now is not.
  expect(await unread()).toEqual(["7: dan (1)", "1: cho ben ann (3)"]);
  await unlike("cho");
  expect(await unread()).toEqual(["7: dan (1)", "1: ben ann (2)"]);
  expect(await read()).toEqual([]);
  expect(await badge()).toBe("3 in 2, 1 closed");
  const mark = (version: number) => markNotificationRead(deps, { ...nameOf(1), version });
  expect((await mark(1)).changed).toBe(false);
  expect((await mark(2)).changed).toBe(true);
  expect(await read()).toEqual(["1: ben ann (2)"]);
  await markNotificationUnread(deps, nameOf(1));
  expect((await dismissNotification(deps, { ...nameOf(1), version: 2 })).changed).toBe(true);
  expect([await unread(), await read()]).toEqual([["7: dan (1)"], []]);
  expect(await badge()).toBe("1 in 1, 0 closed");
});

test("of many members the next ones are shown when one leaves what is unread again", async () => {
  const { deps, nameOf, like, unlike, wait, unread } = await createPost();
  const all = Array.from({ length: 60 }, (_, i) => `u${String(i + 1).padStart(2, "0")}`);
  for (const userId of all) await like(userId);
  await markNotificationRead(deps, { ...nameOf(1), version: 60 });
  await unlike("u57");
  await markNotificationUnread(deps, nameOf(1));
  wait(2_000);
  await unlike("u60");
  expect(await unread()).toEqual(["1: u59 u58 u56 (59)"]);
  const { firstMembers } = await getNotification(deps, nameOf(1));
  expect(firstMembers.map(({ userId }) => userId)).toEqual(["u01", "u02"]);
});

test("what is unread again ends with the last one who can be shown", async () => {
  const { deps, nameOf, like, unlike, wait, unread, badge } = await createPost();
  for (const userId of ["u1", "u2", "u3", "u4", "u5", "u6"]) await like(userId);
  await markNotificationRead(deps, { ...nameOf(1), version: 6 });
  await unlike("u3");
  await markNotificationUnread(deps, nameOf(1));
  wait(2_000);
  for (const userId of ["u2", "u1", "u4", "u5"]) await unlike(userId);
  expect(await unread()).toEqual(["1: u6 (2)"]);
  await unlike("u6");
  expect(await badge()).toBe("0 in 0, 0 closed");
});

test("what is gone, or about a deleted target, does not become unread", async () => {
  const { deps, nameOf, like, badge } = await createPost();
  const refused = { reason: "NOTIFICATION_NOT_FOUND" };
  await expect(markNotificationUnread(deps, nameOf(1))).rejects.toMatchObject(refused);
  await like("ann");
  await markNotificationRead(deps, { ...nameOf(1), version: 1 });
  await deleteTarget(deps, { target });
  await expect(markNotificationUnread(deps, nameOf(1))).rejects.toMatchObject(refused);
  expect(await badge()).toBe("0 in 0, 0 closed");
  const other = await createPost();
  await other.like("ann");
  await markNotificationRead(other.deps, { ...nameOf(1), version: 1 });
  other.wait(other.deps.historyMs);
  await expect(markNotificationUnread(other.deps, nameOf(1))).rejects.toMatchObject(refused);
});

test("an event is retracted from a closed notification, and a replay says so", async () => {
  const { deps, report, wait, unread, badge } = await createPost();
  await report("1", "ann");
  await report("2", "ann");
  wait();
  await report("3", "ann");
  expect(await unread()).toEqual(["3: ann (1)", "1: ann ann (1)"]);
  expect(await report("1", "ann")).toMatchObject([{ notified: true, replayed: true }]);
  const retract = (eventId: string) => retractEvent(deps, { eventId, target, caller });
  expect(await retract("1")).toMatchObject([{ changed: true }]);
  expect(await unread()).toEqual(["3: ann (1)", "1: ann (1)"]);
  await retract("2");
  expect(await badge()).toBe("1 in 1, 0 closed");
  expect(await report("2", "ann")).toMatchObject([{ notified: false, retracted: true }]);
});

test("a blocked person leaves closed ones, also where the like was taken back", async () => {
  const { deps, nameOf, like, unlike, report, wait, unread, badge } = await createPost();
  for (const userId of ["ann", "eve"]) await like(userId);
  await report("1", "eve");
  wait();
  await like("ben");
  await report("2", "ben");
  await markNotificationRead(deps, { ...nameOf(1), version: 3 });
  await unlike("eve");
  await markNotificationUnread(deps, nameOf(1));
  await blockPerson(deps, { ownerId, userId: "eve" });
  expect(await unread()).toEqual(["5: ben (1)", "4: ben (1)", "1: ann (1)"]);
  expect(await badge()).toBe("3 in 3, 1 closed");
});

test("the deletion of a target ends closed notifications of all kinds at once", async () => {
  const { deps, nameOf, like, unlike, report, wait, unread, badge } = await createPost();
  await like("ann");
  await report("1");
  wait();
  await like("ben");
  await report("2");
  await markNotificationRead(deps, { ...nameOf(3), version: 100 });
  for (const userId of ["ann", "ben"]) await unlike(userId);
  // The target has no likes any more.
  await markNotificationUnread(deps, nameOf(3));
  expect(await badge()).toBe("3 in 3, 2 closed");
  await deleteTarget(deps, { target });
  expect(await badge()).toBe("0 in 0, 0 closed");
  expect(await unread()).toEqual([]);
  expect(await deps.reader.get(closedGroupsRef(ownerId, target))).toBeUndefined();
});

test("a target has a limited number of closed notifications, which its deletion ends", async () => {
  const { deps, nameOf, like, report, wait, unread, badge } = await createPost();
  for (let i = 0; i <= maxClosedGroups; i++) {
    await like(`u${i}`);
    wait();
  }
  expect(await badge()).toBe("33 in 33, 32 closed");
  await like("late");
  await report("1");
  wait();
  await report("2");
  expect((await unread()).slice(0, 2)).toEqual(["35: 2 1 (2)", "33: late u32 (2)"]);
  await markNotificationRead(deps, { ...nameOf(35, eventKind("comment")), version: 100 });
  const again = markNotificationUnread(deps, nameOf(35, eventKind("comment")));
  await expect(again).rejects.toMatchObject({ reason: "LIMIT_EXCEEDED" });
  await deleteTarget(deps, { target });
  expect(await badge()).toBe("0 in 0, 0 closed");
});

test("owners without closed notifications read and write no list of them", async () => {
  const { like, unlike, wait, store } = await createPost();
  const kinds: string[] = [];
  store.answering = async ({ op, writes }) => {
    if (op === "commit") kinds.push(...writes.map(({ ref }) => ref.kind));
  };
  await like("ann");
  wait();
  await unlike("ann");
  await like("ann");
  expect(kinds).not.toContain("closedGroups");
  wait();
  await like("ben");
  expect(kinds).toContain("closedGroups");
});

test("a closed notification takes another name of a person while it is unread", async () => {
  const { deps, like, wait, nameOf } = await createPost();
  await like("ann");
  wait();
  await like("ben");
  const rename = (displayName: string) =>
    react(deps, { target, kind: "like", userId: "ann", displayName });
  const shown = async () => (await getNotification(deps, nameOf(1))).firstMembers[0]?.displayName;
  await rename("Anna");
  expect(await shown()).toBe("Anna");
  await markNotificationRead(deps, { ...nameOf(1), version: 1 });
  await rename("Annie");
  expect(await shown()).toBe("Anna");
  await markNotificationUnread(deps, nameOf(1));
  await rename("Ann");
  expect(await shown()).toBe("Ann");
});

test("one that becomes unread between the reads of a listing is listed", async () => {
  const { deps, nameOf, like } = await createPost();
  await like("A");
  await markNotificationRead(deps, { ...nameOf(1), version: 1 });
  const reader: typeof deps.reader = {
    ...deps.reader,
    async readGroups(...given) {
      await markNotificationUnread(deps, nameOf(1));
      return deps.reader.readGroups(...given);
    },
  };
  const filter = { ownerId, state: "ALL", kinds: [] } as const;
  const page = { size: 10, cursor: undefined };
  const { items } = await listNotifications({ ...deps, reader }, filter, page);
  expect(items.map(({ id, readTime }) => [id.generation, readTime])).toEqual([[1, undefined]]);
});
