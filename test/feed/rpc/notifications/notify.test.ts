/** Tests events of Notify through gRPC: merging, idempotency, mutes, and counts. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Notification_Type as Type } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { range } from "../../../support/fixtures/stored-reactions.ts";
import { eventually } from "../../../support/fixtures/waiting.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import {
  type MemoryServer,
  startMemoryServer,
  startServer,
} from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

describe("events", () => {
  test("of one kind about one target are one line, until it is read", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    expect(await owner.notify("x", "e1", "A")).toMatchObject({ notified: true, replayed: false });
    await owner.notify("x", "e2", "B");
    await owner.notify("y", "e3", "A");
    await owner.notify("x", "e4", "A", "follow");
    expect(await owner.unread()).toEqual([
      "x follow: A ... A (1 at 4)",
      "y comment: A ... A (1 at 3)",
      "x comment: A B ... B A (2 at 2)",
    ]);
    expect(await owner.badge()).toBe("4 people in 3 at 4");
    const lines = await owner.list();
    expect(lines.map(({ type }) => type)).toEqual([Type.EVENT, Type.EVENT, Type.EVENT]);
    expect(
      await Promise.all(lines.map(({ notificationId }) => owner.actors(notificationId))),
    ).toEqual([["A"], ["A"], ["B", "A"]]);
    await owner.readAll(4);
    await owner.notify("x", "e5", "C");
    expect(await owner.unread()).toEqual(["x comment: C ... C (1 at 8)"]);
    expect(await owner.history()).toEqual([
      "x follow: A ... A (1 at 4)",
      "y comment: A ... A (1 at 3)",
      "x comment: A B ... B A (2 at 2)",
    ]);
  });

  test("name different people, also where the first ones are of one person", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const report = async (from: number, ...userIds: string[]) => {
      for (const [i, userId] of userIds.entries()) await owner.notify("x", `e${from + i}`, userId);
    };
    await report(1, "ben", "ben", "chie", "dan");
    expect(await owner.unread()).toEqual(["x comment: ben chie ... dan chie ben (3 at 4)"]);
    await report(5, "dan");
    expect(await owner.unread()).toEqual(["x comment: ben chie ... dan chie ben (3 at 5)"]);
    // Of more events, only those at both ends are known.
    await report(6, "dan");
    expect(await owner.unread()).toEqual(["x comment: ben ... dan (3 at 6)"]);
  });

  test("are apart from reactions of the same kind", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    await owner.notify("x", "e1", "B", "like");
    expect(await owner.list()).toMatchObject([
      { kind: "like", type: Type.EVENT, actorCount: 1n },
      { kind: "like", type: Type.REACTION, actorCount: 1n },
    ]);
  });

  test("are in no summary and in no list of reactions", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const target = owner.target("x");
    const userId = `${owner.ownerId}-guest`;
    await owner.notify("x", "e1", userId);
    await owner.notify("x", "e2", userId, "like");
    await owner.notify("x", "e3", "");
    const { reactions } = server;
    const summary = { targetNames: [target], viewerId: userId, includeLatestActors: true };
    const { summaries } = await reactions.batchGetReactionSummaries(summary);
    expect(summaries[0]?.counts).toEqual([]);
    for (const kind of ["comment", "like"]) {
      expect((await reactions.listTargetReactions({ targetName: target, kind })).reactions).toEqual(
        [],
      );
    }
    // The list of a person's reactions lags behind, so a like comes after the events.
    await owner.react("x", userId);
    const listed = async () => {
      const found = await reactions.listUserReactions({ userId });
      return found.reactions.map(({ kind }) => kind);
    };
    await expect.poll(listed).toEqual(["like"]);
    expect(await owner.counts("x")).toEqual({ like: 1 });
  });

  test("without an actor count as one person, and each is shown [B3]", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const event = { targetName: owner.target("x"), kind: "delivery" };
    for (const [eventId, displayName] of [
      ["e1", "12 apples"],
      ["e2", "3 pears"],
    ] as const) {
      const answer = await server.notifications.notify({ ...event, eventId, displayName });
      expect(answer.notified).toBe(true);
    }
    await server.notifications.notify({ ...event, eventId: "e3", userId: "A", displayName: "Ann" });
    const [line] = await owner.list();
    expect(line?.actorCount).toBe(2n);
    expect(line?.eventCount).toBe(3n);
    expect(line?.latestActors.map(({ userId, displayName }) => [userId, displayName])).toEqual([
      ["A", "Ann"],
      ["", "3 pears"],
    ]);
    expect(line?.latestEvents.map(({ displayName }) => displayName)).toEqual([
      "Ann",
      "3 pears",
      "12 apples",
    ]);
    expect(await owner.actors(line?.notificationId ?? "")).toEqual(["A", "", ""]);
  });

  test("of the same person are events of their own, and count one person [B2]", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.notify("x", "e1", "A");
    await owner.notify("x", "e2", "B");
    const before = await owner.count();
    const [line] = await owner.list();
    const { ownerId } = owner;
    await server.notifications.markNotificationsSeen({ ownerId, version: before.version });
    await owner.notify("x", "e3", "A");
    const [later] = await owner.list();
    expect(later).toMatchObject({
      notificationId: line?.notificationId,
      seen: false,
      actorCount: 2n,
      eventCount: 3n,
    });
    expect(later?.latestEvents.map(({ eventId }) => eventId)).toEqual(["e3", "e2", "e1"]);
    expect(later?.latestActors.map(({ userId }) => userId)).toEqual(["A", "B"]);
    expect(later?.version).toBeGreaterThan(before.version);
    expect(await owner.count()).toMatchObject({ actorCount: 2n, unseenNotificationCount: 1n });
    // The owner has seen one comment of A and not the other one, which stays unread.
    const mark = {
      ownerId: owner.ownerId,
      notificationId: line?.notificationId ?? "",
      version: before.version,
    };
    const { unreadCount } = await server.notifications.markNotificationRead(mark);
    expect(unreadCount).toMatchObject({ actorCount: 1n, notificationCount: 1n });
    expect(await owner.unread()).toEqual([`x comment: A ... A (1 at ${later?.version})`]);
    expect(await owner.history()).toEqual(["x comment: A B ... B A (2 at 2)"]);
    const [read] = await owner.list(State.READ);
    expect(read).toMatchObject({ notificationId: line?.notificationId, eventCount: 2n });
    expect(await owner.actors(read?.notificationId ?? "")).toEqual(["B", "A"]);
  });

  test("of the only person: a mark-read leaves the later one, both are listed [B1]", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.notify("x", "e1", "A");
    const [line] = await owner.list();
    await owner.notify("x", "e2", "A");
    const mark = {
      ownerId: owner.ownerId,
      notificationId: line?.notificationId ?? "",
      version: line?.version ?? 0n,
    };
    expect((await server.notifications.markNotificationRead(mark)).changed).toBe(true);
    expect((await owner.count()).actorCount).toBe(1n);
    const [unread] = await owner.list(State.UNREAD);
    const ids = [line, unread].map((each) => each?.notificationId ?? "");
    expect(new Set(ids).size).toBe(2);
    expect(await Promise.all(ids.map((id) => owner.actors(id)))).toEqual([["A"], ["A"]]);
    await owner.readAll(100);
    // No cool-down: each comment is news.
    await owner.notify("x", "e3", "A");
    expect((await owner.count()).actorCount).toBe(1n);
    expect(await owner.history()).toHaveLength(2);
  });
});

describe("an event_id", () => {
  test("makes the call idempotent, whatever has happened to the line since", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const answers = [await owner.notify("x", "e1", "A"), await owner.notify("x", "e1", "A")];
    await owner.readAll(1);
    const before = await dump(server);
    answers.push(await owner.notify("x", "e1", "A"));
    expect(answers.map(({ notified, replayed }) => [notified, replayed])).toEqual([
      [true, false],
      [true, true],
      // It is read: the answer says what is true now.
      [false, true],
    ]);
    expect(await dump(server)).toEqual(before);
    expect(await owner.badge()).toBe("0 people in 0 at 2");
  });

  test("reported several times at once is one event", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const calls = Array.from({ length: 8 }, () => owner.notify("x", "e1", "A"));
    const answers = await Promise.all(calls);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(answers.every(({ notified }) => notified)).toBe(true);
    expect(await owner.badge()).toBe("1 people in 1 at 1");
  });

  test("of another event is refused", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.notify("x", "e1", "A");
    const before = await dump(server);
    const event = { targetName: owner.target("x"), kind: "comment", eventId: "e1" };
    const person = { userId: "A", displayName: "A" };
    const calls = [
      owner.notify("y", "e1", "A"),
      owner.notify("x", "e1", "B"),
      owner.notify("x", "e1", "A", "follow"),
      server.notifications.notify({ ...event, ...person, displayName: "Ann" }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "FailedPrecondition", reason: "ID_REUSED" });
    }
    expect(await dump(server)).toEqual(before);
  });

  test("for many owners is reported once, with its link and data [L1]", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const ownerIds = Array.from({ length: 12 }, (_, i) => `${owner.ownerId}-${i}`);
    const mention = {
      targetName: owner.target("x"),
      eventId: "m1",
      kind: "mention",
      userId: "A",
      displayName: "Ann",
      link: "/posts/x#c81",
      data: Uint8Array.from([1, 2]),
      ownerIds,
    };
    const first = await server.notifications.notify(mention);
    expect(first).toMatchObject({ notified: true, replayed: false });
    expect(first.results.map(({ ownerId }) => ownerId)).toEqual(ownerIds);
    const again = await server.notifications.notify(mention);
    expect(again).toMatchObject({ notified: true, replayed: true });
    const [ownerId = ""] = ownerIds;
    const { notifications } = await server.notifications.listNotifications({ ownerId });
    expect(notifications).toMatchObject([{ target: { title: "x" }, kind: "mention" }]);
    const [{ link, data, eventId } = {}] = notifications[0]?.latestEvents ?? [];
    expect({ link, data, eventId }).toEqual({
      link: mention.link,
      data: mention.data,
      eventId: "m1",
    });
    expect(await owner.count()).toMatchObject({ notificationCount: 0n });
  });

  test("reported by two servers at once for 100 owners notifies each of them once", async () => {
    const one = await startServer({ testClock: false });
    onTestFinished(() => one.stop());
    const { tablePrefix } = one.config;
    const another = await startServer({ testClock: false, tablePrefix });
    onTestFinished(() => another.stop());
    const owner = createOwner(one);
    const ownerIds = range(1, 100).map((i) => `${owner.ownerId}-${i}`);
    const event = { eventId: "m1", kind: "mention", userId: "A", displayName: "Ann", ownerIds };
    // A busy store may leave a call unanswered, which may then be sent again.
    const answers = await Promise.all(
      [one, another].map(({ notifications }) => eventually(() => notifications.notify(event))),
    );
    for (const { results } of answers) {
      expect(results.map(({ ownerId }) => ownerId)).toEqual(ownerIds);
      expect(results.every(({ notified }) => notified)).toBe(true);
    }
    const firstOnes = answers.flatMap(({ results }) => results.filter((each) => !each.replayed));
    expect(new Set(firstOnes.map(({ ownerId }) => ownerId)).size).toBe(firstOnes.length);
    for (const ownerId of ownerIds) {
      const { unreadCount } = await one.notifications.getUnreadCount({ ownerId });
      expect(unreadCount).toMatchObject({ version: 1n, notificationCount: 1n, actorCount: 1n });
    }
  });

  test("of events without a target belong to their owners", async () => {
    const { ownerId, ...owner } = createOwner(server);
    const event = { eventId: "f1", kind: "follow", userId: "A", displayName: "Ann" };
    await server.notifications.notify({ ...event, ownerIds: [ownerId] });
    const [line] = await owner.list();
    expect(line).toMatchObject({ kind: "follow", actorCount: 1n, eventCount: 1n });
    expect(line?.target).toBeUndefined();
    expect(await owner.actors(line?.notificationId ?? "")).toEqual(["A"]);
    expect(await refusalOf(server.notifications.notify(event))).toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });

  test("belongs to the owner and the service: others may have the same", async () => {
    const [owner, other] = [createOwner(server), createOwner(server)];
    await owner.register("x");
    await other.register("x");
    await owner.notify("x", "e1", "A");
    expect(await other.notify("x", "e1", "B")).toMatchObject({ notified: true, replayed: false });
    const { notifications } = server.clientsOf("another-service");
    const targetName = owner.target("x");
    const event = { eventId: "e1", targetName, kind: "comment", userId: "B", displayName: "B" };
    expect(await notifications.notify(event)).toMatchObject({ notified: true, replayed: false });
    expect(await notifications.notify(event)).toMatchObject({ notified: true, replayed: true });
    expect(await owner.notify("x", "e1", "A")).toMatchObject({ notified: true, replayed: true });
    expect(await owner.badge()).toBe("2 people in 1 at 2");
  });
});

describe("no line comes", () => {
  test("of what the owner has done or muted; the answer says so, also when repeated", async () => {
    const owner = createOwner(server);
    await owner.register("x", "muted");
    await owner.mute("muted", true);
    await owner.mutePerson("B", true);
    const silent = { notified: false, replayed: false };
    expect(await owner.notify("x", "e1", owner.ownerId)).toMatchObject(silent);
    expect(await owner.notify("muted", "e2", "A")).toMatchObject(silent);
    expect(await owner.notify("x", "e3", "B")).toMatchObject(silent);
    await owner.mutePerson("B", false);
    expect(await owner.notify("x", "e3", "B")).toMatchObject({ notified: false, replayed: true });
    expect(await owner.list()).toEqual([]);
    expect(await owner.count()).toMatchObject({ actorCount: 0n, unseenNotificationCount: 0n });
  });

  test("of a deleted target or an unknown one", async () => {
    const owner = createOwner(server);
    await owner.register("x", "dead");
    await owner.notify("dead", "e1", "A");
    await server.reactions.deleteTarget({ targetName: owner.target("dead") });
    const before = await dump(server);
    expect(await reasonOf(owner.notify("dead", "e2", "A"))).toBe("TARGET_DELETED");
    expect(await reasonOf(owner.notify("unknown", "e3", "A"))).toBe("TARGET_NOT_FOUND");
    expect(await dump(server)).toEqual(before);
    // A refused event is not remembered.
    expect(await owner.notify("x", "e2", "A")).toMatchObject({ notified: true, replayed: false });
  });

  test("in the way of reactions: kinds of events are apart from the 16 kinds [C1]", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    for (let i = 0; i < 20; i++) await owner.notify("x", `e${i}`, "A", `k${i}`);
    await owner.readAll(20);
    await owner.react("x", "A");
    expect(await owner.counts("x")).toEqual({ like: 1 });
  });
});
