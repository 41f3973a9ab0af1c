/** Tests lists of notifications through gRPC: both states merged, pages, dead targets, history. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { markNotificationRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import type { Notification } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, lineOf, type Owner } from "../../../support/fixtures/owners.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

const pageSizes = [1, 2, 3, 5, 100];

const ms = (time: Notification["readTime"]): number => (time ? timestampMs(time) : Number.NaN);

const isRead = ({ readTime }: Notification) => readTime !== undefined;

/** Marks likes as read, which are then listed for this time. */
async function readFor({ ownerId, target }: Owner, id: string, version: number, keptMs: number) {
  const deps = { ...server.deps, historyMs: keptMs };
  const line = { ownerId, target: target(id), kind: "like", version };
  expect((await markNotificationRead(deps, line)).changed).toBe(true);
}

describe("one list of both states", () => {
  test("has the line with the latest person first, whatever its state", async () => {
    const owner = createOwner(server);
    await owner.register("v", "w", "x", "y", "z");
    for (const id of ["v", "w", "x", "y", "z"]) await owner.react(id, "A", "B");
    await owner.read("y", 8);
    await owner.read("v", 2);
    await owner.read("x", 5);
    await owner.react("v", "C");
    const expected = [
      "v: C ... C (1 at 14)",
      "z: A B ... B A (2 at 10)",
      "y: A B ... B A (2 at 8)",
      "x: B ... B (1 at 6)",
      "x: A ... A (1 at 5)",
      "w: A B ... B A (2 at 4)",
      "v: A B ... B A (2 at 2)",
    ];
    for (const pageSize of pageSizes) {
      const lines = await owner.list(State.UNSPECIFIED, pageSize);
      expect(lines.map(lineOf)).toEqual(expected);
      expect(lines.map(isRead)).toEqual([false, false, true, false, true, false, true]);
    }
    for (const pageSize of pageSizes) {
      const [unread, read] = [State.UNREAD, State.READ].map((state) => owner.list(state, pageSize));
      expect((await unread)?.map(lineOf)).toEqual([0, 1, 3, 5].map((i) => expected[i]));
      expect((await read)?.map(lineOf)).toEqual([2, 4, 6].map((i) => expected[i]));
    }
  });

  test("in pages, while people come in and lines are read, has each line once", async () => {
    const owner = createOwner(server);
    const ids = Array.from({ length: 12 }, (_, i) => `t${i}`);
    await owner.register(...ids, "new1", "new2", "new3", "new4", "new5", "new6");
    for (const id of ids) await owner.react(id, "A");
    for (const id of ["t1", "t4", "t5", "t8", "t11"]) await owner.read(id, 12);
    const seen: Notification[] = [];
    let pageToken = "";
    for (let page = 1; page <= 6; page++) {
      const request = { ownerId: owner.ownerId, pageSize: 2, pageToken };
      const response = await server.notifications.listNotifications(request);
      seen.push(...response.notifications);
      pageToken = response.nextPageToken;
      // A new line, a newcomer in a line that was listed, and reads on both sides of the token.
      await owner.react(`new${page}`, "B");
      await owner.react(response.notifications[0]?.target?.title ?? "", `N${page}`);
      if (page === 2) await owner.read("t9", 12);
      if (page === 3) await owner.read("t3", 12);
    }
    expect(pageToken).toBe("");
    expect(seen.map(({ target }) => target?.title)).toEqual(ids.toReversed());
    expect(seen.map(({ actorCount }) => actorCount)).toEqual(ids.map(() => 1n));
    const read = seen.filter(isRead).map(({ target }) => target?.title);
    expect(read).toEqual(["t11", "t8", "t5", "t4", "t3", "t1"]);
    // From the beginning, the list has the newcomers, too, and the lines in their new places.
    const [first] = await owner.list(State.UNSPECIFIED, 100);
    expect(first?.target?.title).toBe("t1");
  });
});

describe("page tokens", () => {
  test("are valid only for their list", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B", "C");
    await owner.react("y", "A", "B");
    const { notifications } = server;
    const { ownerId } = owner;
    const list = { ownerId, state: State.UNREAD, pageSize: 1 };
    const { nextPageToken: pageToken } = await notifications.listNotifications(list);
    const people = { ownerId, notificationId: await owner.idOf("x"), pageSize: 1 };
    const actors = await notifications.listNotificationActors(people);
    const merged = await notifications.listNotifications({ ownerId, pageSize: 1 });
    const ofAnotherLine = {
      ownerId,
      notificationId: await owner.idOf("y"),
      pageToken: actors.nextPageToken,
    };
    const tokens = [pageToken, actors.nextPageToken, merged.nextPageToken];
    expect(new Set(["", ...tokens]).size).toBe(4);
    const calls = [
      notifications.listNotifications({ ...list, state: State.READ, pageToken }),
      notifications.listNotifications({ ...list, state: State.UNSPECIFIED, pageToken }),
      notifications.listNotifications({ ...list, pageToken: merged.nextPageToken }),
      notifications.listNotifications({ ...list, ownerId: "other", pageToken }),
      notifications.listNotifications({ ...list, pageToken: actors.nextPageToken }),
      notifications.listNotificationActors({ ...people, pageToken }),
      notifications.listNotificationActors(ofAnotherLine),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({ reason: "INVALID_REQUEST", fields: ["page_token"] });
    }
  });
});

describe("lines about a deleted target", () => {
  test("are left out of every list at once, and the pages go on", async () => {
    const owner = createOwner(server);
    await owner.register("v", "w", "x", "y");
    for (const id of ["v", "w", "x", "y"]) await owner.react(id, "A", "B");
    await owner.notify("x", "e1", "C");
    await owner.read("x", 5);
    await owner.read("w", 4);
    await owner.idOf("y");
    for (const id of ["x", "y"]) {
      await server.reactions.deleteTarget({ targetName: owner.target(id) });
    }
    // Nothing has been purged yet: the test's workflows port only records its calls.
    expect((await dump(server)).some((item) => item.includes(owner.target("x").id))).toBe(true);
    for (const pageSize of [1, 2, 100]) {
      const listed = async (state: State) => (await owner.list(state, pageSize)).map(lineOf);
      expect(await listed(State.UNSPECIFIED)).toEqual([
        "w: A B ... B A (2 at 4)",
        "v: A B ... B A (2 at 2)",
      ]);
      expect(await listed(State.UNREAD)).toEqual(["v: A B ... B A (2 at 2)"]);
      expect(await listed(State.READ)).toEqual(["w: A B ... B A (2 at 4)"]);
    }
    expect(await owner.badge()).toMatch(/^2 people in 1 at /);
    expect(await reasonOf(owner.actors(await owner.idOf("y")))).toBe("NOTIFICATION_NOT_FOUND");
    expect(await owner.read("y", 100)).toBe(false);
  });
});

describe("history", () => {
  const day = 86_400_000;

  test("is kept for 90 days after the mark-read", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    // The server's clock may be some milliseconds behind, so that it is never ahead of the store's.
    const before = Date.now() - 1_000;
    await owner.readAll(3);
    const found = await owner.list(State.READ);
    expect(found.map(lineOf)).toEqual(["y: A ... A (1 at 3)", "x: A B ... B A (2 at 2)"]);
    for (const { readTime, expireTime, createTime, updateTime } of found) {
      expect(ms(expireTime) - ms(readTime)).toBe(90 * day);
      expect(ms(readTime)).toBeGreaterThanOrEqual(before);
      expect(ms(updateTime)).toBeLessThanOrEqual(ms(readTime));
      expect(ms(createTime)).toBeLessThanOrEqual(ms(updateTime));
    }
  });

  test("is kept for as long as MEGURI_HISTORY_DAYS says", async () => {
    const { tablePrefix } = server.config;
    const env = { MEGURI_HISTORY_DAYS: "7" };
    const other = await startServer({ testClock: false, tablePrefix, env });
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    await other.notifications.markAllNotificationsRead({ ownerId: owner.ownerId, version: 1n });
    await other.stop();
    const [read] = await owner.list(State.READ);
    expect(ms(read?.expireTime) - ms(read?.readTime)).toBe(7 * day);
  });

  test("is in no list when it has expired, even if it is still stored", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y", "z");
    await owner.react("x", "A");
    await owner.react("y", "A");
    await owner.react("z", "A");
    const gone = { ownerId: owner.ownerId, notificationId: await owner.idOf("y") };
    await readFor(owner, "y", 2, 1);
    await owner.read("x", 1);
    const listed = (state: State) => async () => (await owner.list(state, 1)).map(lineOf);
    const kept = "x: A ... A (1 at 1)";
    await expect.poll(listed(State.READ)).toEqual([kept]);
    const both = listed(State.UNSPECIFIED);
    await expect.poll(both).toEqual(["z: A ... A (1 at 3)", kept]);
    const { id } = owner.target("y");
    expect((await dump(server)).filter((item) => item.includes(id))).not.toEqual([]);
    const { notifications } = server;
    const calls = [
      notifications.getNotification(gone),
      notifications.listNotificationActors(gone),
      notifications.markNotificationUnread(gone),
    ];
    const reasons = await Promise.all(calls.map(reasonOf));
    expect(reasons).toEqual(calls.map(() => "NOTIFICATION_NOT_FOUND"));
    const dismissal = notifications.dismissNotification({ ...gone, version: 3n });
    expect(await dismissal).toMatchObject({ changed: false, unreadCount: { version: 5n } });
    await owner.react("y", "B");
    expect((await owner.unread())[0]).toBe("y: B ... B (1 at 6)");
  });
});

describe("ListNotificationActors", () => {
  test("lists all people who still react, of an unread line and of a read one", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G", "H");
    await owner.unreact("x", "C");
    await owner.read("x", 6);
    const [unread = "", read = ""] = (await owner.list()).map(
      ({ notificationId }) => notificationId,
    );
    for (const pageSize of [1, 2, 200]) {
      expect(await owner.actors(unread, pageSize)).toEqual(["H", "G"]);
      expect(await owner.actors(read, pageSize)).toEqual(["F", "E", "D", "B", "A"]);
    }
    await owner.unreact("x", "E");
    expect(await owner.actors(read)).toEqual(["F", "D", "B", "A"]);
    const { actors } = await server.notifications.listNotificationActors({
      ownerId: owner.ownerId,
      notificationId: unread,
    });
    const people = actors.map(({ userId, displayName, createTime }) => [
      userId,
      displayName,
      ms(createTime) > 0,
    ]);
    expect(people).toEqual([
      ["H", "H", true],
      ["G", "G", true],
    ]);
  });
});
