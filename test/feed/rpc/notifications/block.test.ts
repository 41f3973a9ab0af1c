/** Tests through gRPC that a blocked person leaves all notifications, and GetNotification. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { createOwner, lineOf, type Owner } from "../../../support/fixtures/owners.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const block = ({ ownerId }: Owner, userId: string) =>
  server.notifications.blockPerson({ ownerId, userId });

describe("BlockPerson", () => {
  test("takes reactions out of unread and read notifications, and they stay counted", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y", "z");
    await owner.react("x", "eve", "bob");
    await owner.react("y", "eve");
    await owner.readAll(3);
    await owner.react("z", "A", "B", "C", "D", "eve", "F", "G");
    await owner.react("x", "dan");
    const answer = await block(owner, "eve");
    expect(answer.changed).toBe(true);
    expect(answer.unreadCount).toEqual(await owner.count());
    expect(await owner.unread()).toEqual([
      "x: dan ... dan (1 at 13)",
      "z: A B ... G F D (6 at 12)",
    ]);
    expect(await owner.history()).toEqual(["x: bob ... bob (1 at 2)"]);
    expect(answer.unreadCount).toMatchObject({ actorCount: 7n, notificationCount: 2n });
    expect(await owner.counts("y")).toEqual({ like: 1 });
    const [read] = await owner.list(State.READ);
    expect(await owner.actors(read?.notificationId ?? "")).toEqual(["bob"]);
    const { userIds } = await server.notifications.listMutedPeople({ ownerId: owner.ownerId });
    expect(userIds).toEqual(["eve"]);
  });

  test("takes all events of the person out, and removes what has no others", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    for (const [id, userId] of [
      ["e1", "eve"],
      ["e2", "bob"],
      ["e3", "eve"],
    ] as const) {
      await owner.notify("x", id, userId);
    }
    await owner.readAll(3);
    await owner.notify("x", "e4", "eve");
    await owner.notify("y", "e5", "eve");
    await owner.notify("y", "e6", "bob");
    await block(owner, "eve");
    expect(await owner.unread()).toEqual(["y comment: bob ... bob (1 at 7)"]);
    const [read] = await owner.list(State.READ);
    expect(read && lineOf(read)).toBe("x comment: bob ... bob (1 at 2)");
    expect(read?.eventCount).toBe(1n);
    expect((await owner.notify("y", "e7", "eve")).notified).toBe(false);
  });

  test("hides the name of a person who has taken a like back after it was read", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "eve", "bob");
    await owner.readAll(2);
    await owner.unreact("x", "eve");
    await block(owner, "eve");
    expect(await owner.history()).toEqual(["x: bob ... bob (1 at 2)"]);
  });

  test("repeated changes nothing, and finds what an interrupted call has left", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "eve");
    // The mute is all that the interrupted call has done.
    await owner.mutePerson("eve", true);
    expect((await block(owner, "eve")).changed).toBe(true);
    expect(await owner.unread()).toEqual([]);
    const before = await dump(server);
    expect((await block(owner, "eve")).changed).toBe(false);
    expect(await dump(server)).toEqual(before);
    await owner.react("y", "eve");
    expect(await owner.badge()).toMatch(/^0 people in 0 /);
  });

  test("answers a token by which the next call goes on, with the same other fields", async () => {
    const { ownerId } = createOwner(server);
    const caller = asService("blog");
    const actor = { userId: "eve", displayName: "Eve" };
    for (let i = 1; i <= 513; i++) {
      const event = { eventId: `e${i}`, kind: `k${i}`, ownerIds: [ownerId], actor, caller };
      await notify(server.deps, event);
    }
    const request = { ownerId, userId: "eve" };
    const { notifications } = server;
    const first = await notifications.blockPerson(request);
    expect(first).toMatchObject({ changed: true, unreadCount: { notificationCount: 1n } });
    const { nextPageToken: pageToken } = first;
    for (const other of [{ userId: "bob" }, { ownerId: "other" }]) {
      const call = notifications.blockPerson({ ...request, ...other, pageToken });
      expect(await refusalOf(call)).toMatchObject({ fields: ["page_token"] });
    }
    expect(await notifications.blockPerson({ ...request, pageToken })).toMatchObject({
      changed: true,
      unreadCount: { notificationCount: 0n, actorCount: 0n },
      nextPageToken: "",
    });
  });

  test("is refused of oneself, as a mute is, which can only be ended", async () => {
    const owner = createOwner(server);
    const self = { ownerId: owner.ownerId, userId: owner.ownerId };
    const { notifications } = server;
    expect(await reasonOf(notifications.blockPerson(self))).toBe("INVALID_REQUEST");
    const mute = notifications.setPersonMuted({ ...self, muted: true });
    expect(await reasonOf(mute)).toBe("INVALID_REQUEST");
    expect(await notifications.setPersonMuted({ ...self, muted: false })).toMatchObject({
      changed: false,
    });
  });
});

describe("GetNotification", () => {
  test("reads a notification by its id, unread, read and not once it has ended", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B");
    const { ownerId } = owner;
    const notificationId = await owner.idOf("x");
    const get = () => server.notifications.getNotification({ ownerId, notificationId });
    const [listed] = await owner.list(State.UNREAD);
    expect((await get()).notification).toEqual(listed);
    await server.notifications.markNotificationsSeen({ ownerId, version: 2n });
    expect((await get()).notification?.seen).toBe(true);
    await owner.read("x", 2);
    const [read] = await owner.list(State.READ);
    expect((await get()).notification).toEqual(read);
    await server.reactions.deleteTarget({ targetName: owner.target("x") });
    expect(await reasonOf(get())).toBe("NOTIFICATION_NOT_FOUND");
  });
});
