/** Tests unread notifications through gRPC: who is in a line, its times, and the unread count. */
import { setTimeout as sleep } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner } from "../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

describe("a line", () => {
  test("has the first two and the latest three people, and the number of all", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    expect(await owner.badge()).toBe("0 people in 0 at 0");
    expect(await owner.unread()).toEqual([]);
    await owner.react("x", "A");
    expect(await owner.unread()).toEqual(["x: A ... A (1 at 1)"]);
    await owner.react("x", "B");
    expect(await owner.unread()).toEqual(["x: A B ... B A (2 at 2)"]);
    await owner.react("x", "C");
    expect(await owner.unread()).toEqual(["x: A B ... C B A (3 at 3)"]);
    await owner.react("x", "D", "E", "F");
    expect(await owner.unread()).toEqual(["x: A B ... F E D (6 at 6)"]);
    expect(await owner.badge()).toBe("6 people in 1 at 6");
    expect(await owner.history()).toEqual([]);
  });

  test("is of the people who are in it now, and so is its version", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G");
    await owner.unreact("x", "A");
    expect(await owner.unread()).toEqual(["x: B C ... G F E (6 at 7)"]);
    await owner.unreact("x", "G", "F");
    expect(await owner.unread()).toEqual(["x: B C ... E D C (4 at 5)"]);
    await owner.unreact("x", "C", "B", "D");
    expect(await owner.unread()).toEqual(["x: E ... E (1 at 5)"]);
    expect(await owner.badge()).toBe("1 people in 1 at 13");
    await owner.unreact("x", "E");
    expect(await owner.unread()).toEqual([]);
    expect(await owner.badge()).toBe("0 people in 0 at 14");
  });

  test("has the times of its first and its latest person, also after they leave", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    for (const userId of ["A", "B", "C", "D"]) {
      await owner.react("x", userId);
      // The times of reactions are whole milliseconds.
      await sleep(2);
    }
    const line = async () => (await owner.list(State.UNREAD))[0] as Notification;
    const before = await line();
    const created = before.latestActors.map(({ createTime }) => createTime);
    expect(before.updateTime).toEqual(created[0]);
    expect(before.createTime).toEqual(before.firstActors[0]?.createTime);
    const times = [before.createTime, ...created.toReversed()].map((time) =>
      time ? timestampMs(time) : Number.NaN,
    );
    expect(times.every((time, i) => time > (times[i - 1] ?? 0))).toBe(true);
    await owner.unreact("x", "D", "A");
    const after = await line();
    expect(after.updateTime).toEqual(created[1]);
    expect(after.createTime).toEqual(before.firstActors[1]?.createTime);
    expect([after.readTime, after.expireTime]).toEqual([undefined, undefined]);
  });

  test("counts a person once: react, unreact, react", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B", "B");
    await owner.unreact("x", "A");
    await owner.react("x", "A", "A");
    expect(await owner.unread()).toEqual(["x: A B ... B A (2 at 2)"]);
    expect(await owner.badge()).toBe("2 people in 1 at 4");
  });

  test("shows a target as it is now", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    const { ownerId } = owner;
    const changed = { targetName: owner.target("x"), ownerId, title: "New", link: "/new" };
    await server.reactions.registerTarget(changed);
    await owner.mute("x", true);
    expect(await owner.list(State.UNREAD)).toMatchObject([
      { target: { title: "New", link: "/new", muted: true }, kind: "like" },
    ]);
  });
});

describe("the unread count", () => {
  test("is the sum of the people of each line, and the number of lines", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y", "z");
    for (const id of ["x", "y", "z"]) await owner.react(id, "A", "B", "C", "D", "E");
    expect(await owner.badge()).toBe("15 people in 3 at 15");
    const wow = { targetName: owner.target("x"), userId: "A", displayName: "A", kind: "wow" };
    await server.reactions.react(wow);
    expect(await owner.badge()).toBe("16 people in 4 at 16");
    expect(await owner.unread()).toEqual([
      "x wow: A ... A (1 at 16)",
      "z: A B ... E D C (5 at 15)",
      "y: A B ... E D C (5 at 10)",
      "x: A B ... E D C (5 at 5)",
    ]);
  });

  test("leaves out the owner's own reactions, which are counted", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", owner.ownerId, "A");
    expect(await owner.unread()).toEqual(["x: A ... A (1 at 2)"]);
    expect(await owner.badge()).toBe("1 people in 1 at 2");
    expect(await owner.counts("x")).toEqual({ like: 2 });
    await owner.unreact("x", owner.ownerId);
    expect(await owner.badge()).toBe("1 people in 1 at 3");
  });

  test("leaves out reactions with suppress_notification, which are counted", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const target = owner.target("x");
    const imported = {
      targetName: target,
      userId: "A",
      displayName: "A",
      suppressNotification: true,
    };
    expect(await server.reactions.react(imported)).toMatchObject({ changed: true });
    // An active reaction stays as it is, so a later call does not notify either.
    await owner.react("x", "A");
    expect(await owner.badge()).toBe("0 people in 0 at 1");
    await owner.react("x", "B");
    expect(await owner.unread()).toEqual(["x: B ... B (1 at 2)"]);
    expect(await owner.actors(await owner.idOf("x"))).toEqual(["B"]);
    expect(await owner.counts("x")).toEqual({ like: 2 });
    await owner.unreact("x", "A");
    expect(await owner.unread()).toEqual(["x: B ... B (1 at 2)"]);
    // Only the reaction was silent: the same person notifies the owner by the next one.
    await owner.react("x", "A");
    expect(await owner.unread()).toEqual(["x: B A ... A B (2 at 4)"]);
    expect(await owner.counts("x")).toEqual({ like: 2 });
  });
});
