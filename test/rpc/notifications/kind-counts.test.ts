/** Tests through gRPC the numbers of unread notifications by kind. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Notification_Type as Type } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, type Owner } from "../../support/fixtures/owners.ts";
import { range } from "../../support/fixtures/stored-reactions.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const countsOf = async ({ count }: Owner) =>
  (await count()).kindCounts.map(({ kind, type, notificationCount }) => [
    kind,
    type === Type.EVENT ? "EVENT" : "REACTION",
    Number(notificationCount),
  ]);

test("kinds of reactions and of events have numbers of their own, in order", async () => {
  const owner = createOwner(server);
  expect(await countsOf(owner)).toEqual([]);
  await owner.register("x", "y");
  await owner.react("x", "A", "B");
  await owner.react("y", "A");
  await owner.notify("y", "e1", "C", "like");
  await owner.notify("x", "e2", "C", "comment");
  expect(await countsOf(owner)).toEqual([
    ["comment", "EVENT", 1],
    ["like", "REACTION", 2],
    ["like", "EVENT", 1],
  ]);
  await owner.read("x", 2);
  await owner.unreact("y", "A");
  expect(await countsOf(owner)).toEqual([
    ["comment", "EVENT", 1],
    ["like", "EVENT", 1],
  ]);
  await server.reactions.deleteTarget({ targetName: owner.target("x") });
  expect(await countsOf(owner)).toEqual([["like", "EVENT", 1]]);
});

test("of seventeen kinds the last one has no number until all of it is read", async () => {
  const owner = createOwner(server);
  await owner.register("x", "y");
  for (const i of range(1, 16)) await owner.notify("x", `e${i}`, "C", `k${i}`);
  await owner.notify("y", "e17", "C", "late");
  const { notificationCount, kindCounts } = await owner.count();
  expect(notificationCount).toBe(17n);
  expect(kindCounts).toHaveLength(16);
  expect(kindCounts.some(({ kind }) => kind === "late")).toBe(false);
  const { ownerId } = owner;
  const k1 = (await owner.list(State.UNREAD, 100)).find(({ kind }) => kind === "k1");
  const { notificationId = "", version = 0n } = k1 ?? {};
  await server.notifications.markNotificationRead({ ownerId, notificationId, version });
  await owner.notify("x", "e18", "C", "late");
  // One number of two notifications would be wrong, so there is none.
  const kinds = (await countsOf(owner)).map(([kind]) => kind);
  expect(kinds).toEqual(
    range(2, 16)
      .map((i) => `k${i}`)
      .sort(),
  );
  await owner.readAll(19);
  await owner.notify("y", "e19", "C", "late");
  expect(await countsOf(owner)).toEqual([["late", "EVENT", 1]]);
});
