/** Tests regroup_after and MarkNotificationUnread through gRPC. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { CommitEngine } from "../../../../src/platform/engine/engine.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { createDynamoItemStore } from "../../../../src/store/item-store.ts";
import { createOwner, lineOf } from "../../../support/fixtures/owners.ts";
import { toRefusal } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

/** The server's use cases as they were called two minutes ago. */
function twoMinutesAgo(): Deps {
  const wall = Date.now() - 120_000;
  const clock = { now: async () => ({ calendar: wall, wall }) };
  const store = createDynamoItemStore(server.dynamo, server.table);
  return { ...server.deps, clock, engine: new CommitEngine({ store, clock }) };
}

test("regroup_after of React and Notify begins another notification", async () => {
  const owner = createOwner(server);
  await owner.register("x");
  const target = owner.target("x");
  const past = twoMinutesAgo();
  const actor = (userId: string) => ({ userId, displayName: userId });
  await react(past, { target, kind: "like", ...actor("A") });
  const event = { eventId: "1", kind: "comment", actor: actor("D"), caller: asService("blog") };
  await notify(past, { ...event, target });

  const like = (userId: string, seconds: bigint) =>
    server.reactions.react({
      targetName: target,
      kind: "like",
      ...actor(userId),
      regroupAfter: { seconds },
    });
  await like("B", 300n);
  await like("C", 60n);
  const comment = { eventId: "2", kind: "comment", ...actor("E"), targetName: target };
  await server.notifications.notify({ ...comment, regroupAfter: { seconds: 60n } });
  expect(await owner.unread()).toEqual([
    "x comment: E ... E (1 at 5)",
    "x: C ... C (1 at 4)",
    "x: A B ... B A (2 at 3)",
    "x comment: D ... D (1 at 2)",
  ]);
  expect(await owner.badge()).toBe("5 people in 4 at 5");
});

test("a read notification becomes unread with its id, its people and its place", async () => {
  const owner = createOwner(server);
  const { ownerId } = owner;
  await owner.register("x", "y");
  await owner.react("x", "A", "B");
  await owner.react("y", "A");
  const notificationId = await owner.idOf("x");
  await owner.readAll(9);
  const markUnread = () => server.notifications.markNotificationUnread({ ownerId, notificationId });
  const { changed, unreadCount, notification } = await markUnread();
  expect(changed).toBe(true);
  expect(unreadCount).toEqual(await owner.count());
  expect(unreadCount).toMatchObject({ notificationCount: 1n, actorCount: 2n });
  expect(notification).toMatchObject({ notificationId, seen: false });
  expect(notification?.readTime).toBeUndefined();
  expect(await owner.unread()).toEqual(["x: A B ... B A (2 at 2)"]);
  expect((await owner.list()).map(lineOf)).toEqual([
    "y: A ... A (1 at 3)",
    "x: A B ... B A (2 at 2)",
  ]);
  expect(await markUnread()).toMatchObject({ changed: false, notification: { notificationId } });
  expect(await owner.actors(notificationId)).toEqual(["B", "A"]);
  expect(await owner.read("x", 2)).toBe(true);
  const [, read] = await owner.list(State.READ);
  expect(read?.notificationId).toBe(notificationId);
});

test("what became unread is answered, even if it has ended since", async () => {
  const owner = createOwner(server);
  const { ownerId } = owner;
  await owner.register("x");
  await owner.react("x", "A");
  const notificationId = await owner.idOf("x");
  await owner.readAll(1);
  const { engine } = server.deps;
  const transact = vi.spyOn(engine, "transact").mockImplementationOnce(async (request) => {
    transact.mockRestore();
    const marked = await engine.transact(request);
    await owner.unreact("x", "A");
    return marked;
  });
  const answer = await server.notifications.markNotificationUnread({ ownerId, notificationId });
  expect(answer).toMatchObject({
    changed: true,
    unreadCount: { version: 3n, notificationCount: 1n },
    notification: { notificationId, actorCount: 1n, seen: false },
  });
  expect(await owner.badge()).toBe("0 people in 0 at 4");
});

test("an id of nothing that is read is refused", async () => {
  const owner = createOwner(server);
  await owner.register("x");
  await owner.react("x", "A");
  const notificationId = await owner.idOf("x");
  await owner.unreact("x", "A");
  const name = { ownerId: owner.ownerId, notificationId };
  const error = await server.notifications.markNotificationUnread(name).catch((each) => each);
  expect(toRefusal(error).reason).toBe("NOTIFICATION_NOT_FOUND");
});
