/** Tests mark-read through gRPC: whole lines, splits at a version, and all lines at once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

describe("MarkNotificationRead", () => {
  test("at an older version splits it: later people stay unread", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G", "H");
    expect(await owner.read("x", 6)).toBe(true);
    expect(await owner.unread()).toEqual(["x: G H ... H G (2 at 8)"]);
    expect(await owner.history()).toEqual(["x: A B ... F E D (6 at 6)"]);
    expect(await owner.badge()).toBe("2 people in 1 at 9");
    await owner.react("x", "I");
    expect(await owner.unread()).toEqual(["x: G H ... I H G (3 at 10)"]);
    expect(await owner.read("x", 6)).toBe(false);
    expect(await owner.read("x", 10)).toBe(true);
    expect(await owner.history()).toEqual([
      "x: G H ... I H G (3 at 10)",
      "x: A B ... F E D (6 at 6)",
    ]);
    expect(await owner.badge()).toBe("0 people in 0 at 11");
  });
});

describe("a version beyond the unread count", () => {
  const far = 2 ** 53 - 1;

  test("counts as the latest, so that a client of before a restore is not blocked", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    expect(await owner.read("x", far)).toBe(true);
    expect(await owner.badge()).toBe("1 people in 1 at 4");
    expect((await owner.readAll(far)).markedCount).toBe(1n);
    expect(await owner.badge()).toBe("0 people in 0 at 5");
    expect(await owner.history()).toEqual(["y: A ... A (1 at 3)", "x: A B ... B A (2 at 2)"]);
    // The version that the client has sent is not kept: the next likes are unread.
    await owner.react("x", "C");
    expect(await owner.unread()).toEqual(["x: C ... C (1 at 6)"]);
  });

  test("of an owner without notifications marks nothing", async () => {
    const before = await dump(server);
    const request = { ownerId: "nobody", version: BigInt(far) };
    const answer = await server.notifications.markAllNotificationsRead(request);
    expect(answer).toMatchObject({ markedCount: 0n, unreadCount: { version: 0n } });
    const seen = await server.notifications.markNotificationsSeen(request);
    expect(seen.unreadCount).toMatchObject({ version: 0n, unseenNotificationCount: 0n });
    expect(await dump(server)).toEqual(before);
  });
});

describe("MarkAllNotificationsRead", () => {
  test("reads every line up to the version", async () => {
    const owner = createOwner(server);
    await owner.register("w", "x", "y", "z");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    await owner.react("x", "C");
    await owner.react("z", "A");
    await owner.react("y", "B");
    const { markedCount, unreadCount } = await owner.readAll(4);
    expect(markedCount).toBe(2n);
    expect(unreadCount).toMatchObject({ actorCount: 2n, notificationCount: 2n });
    expect(await owner.unread()).toEqual(["y: B ... B (1 at 6)", "z: A ... A (1 at 5)"]);
    expect(await owner.history()).toEqual(["x: A B ... C B A (3 at 4)", "y: A ... A (1 at 3)"]);
    const version = Number(unreadCount?.version);
    expect((await owner.readAll(4)).markedCount).toBe(0n);
    expect((await owner.readAll(version)).markedCount).toBe(2n);
    expect(await owner.unread()).toEqual([]);
    expect(await owner.badge()).toMatch(/^0 people in 0 at /);
  });

  test("reads more lines than one transaction can write", async () => {
    const owner = createOwner(server);
    const ids = Array.from({ length: 130 }, (_, i) => `t${i}`);
    // A few at a time, so that no call waits for many transactions of a busy store.
    for (let i = 0; i < ids.length; i += 26) {
      const some = ids.slice(i, i + 26);
      await Promise.all(some.map((id) => owner.register(id)));
      await Promise.all(some.map((id) => owner.react(id, "A")));
    }
    expect(await owner.badge()).toBe("130 people in 130 at 130");
    expect((await owner.readAll(130)).markedCount).toBe(130n);
    expect(await owner.badge()).toMatch(/^0 people in 0 at /);
    expect(await owner.list(State.UNREAD, 100)).toEqual([]);
    expect(await owner.list(State.READ, 100)).toHaveLength(130);
  });

  test("answers a token by which the next call goes on, with the same other fields", async () => {
    const { ownerId } = createOwner(server);
    const caller = asService("blog");
    const actor = { userId: "A", displayName: "A" };
    for (let i = 1; i <= 520; i++) {
      const event = { eventId: `e${i}`, kind: `k${i}`, ownerIds: [ownerId], actor, caller };
      await notify(server.deps, event);
    }
    const request = { ownerId, version: 520n };
    const first = await server.notifications.markAllNotificationsRead(request);
    const { nextPageToken: pageToken } = first;
    expect(first).toMatchObject({ markedCount: 512n, unreadCount: { notificationCount: 8n } });
    for (const other of [{ version: 519n }, { ownerId: "other" }]) {
      const call = server.notifications.markAllNotificationsRead({
        ...request,
        ...other,
        pageToken,
      });
      expect(await refusalOf(call)).toMatchObject({ fields: ["page_token"] });
    }
    const next = { ...request, pageToken };
    expect(await server.notifications.markAllNotificationsRead(next)).toMatchObject({
      markedCount: 8n,
      unreadCount: { notificationCount: 0n, actorCount: 0n },
      nextPageToken: "",
    });
  });
});
