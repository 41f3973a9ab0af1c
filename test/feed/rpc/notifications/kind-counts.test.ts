/** Tests through gRPC the numbers of unread notifications by kind. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Notification_Type as Type } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

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
