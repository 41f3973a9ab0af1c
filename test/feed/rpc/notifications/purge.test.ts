/** Tests what the purge of a deleted target removes, and what the deletion has removed before. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import {
  endPurge,
  purgeEvents,
  purgeReactions,
  readKindsToPurge,
} from "../../../../src/feed/use-cases/reactions/purge-target.ts";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { composeWorker, startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
let worker: ReturnType<typeof composeWorker>;
beforeAll(async () => {
  server = await startServer({ testClock: false });
  worker = composeWorker(server);
});
afterAll(async () => {
  await worker?.close();
  await server.stop();
});

test("a purge removes the reactions; the deletion has removed the unread lines", async () => {
  const owner = createOwner(server);
  await owner.register("x", "y");
  await owner.react("x", "A", "B");
  await owner.read("x", 1);
  await owner.react("y", "A");
  const target = owner.target("x");
  await server.reactions.deleteTarget({ targetName: target });
  expect(await owner.unread()).toEqual(["y: A ... A (1 at 4)"]);
  expect(await owner.badge()).toBe("1 people in 1 at 5");
  const { deps } = worker;
  expect(await readKindsToPurge(deps, target)).toEqual(["like"]);
  expect(await readKindsToPurge(deps, target)).toEqual(["like"]);
  expect(await owner.badge()).toBe("1 people in 1 at 5");
  expect(await purgeReactions(deps, target, "like")).toBe(false);
  await endPurge(deps, target);
  const left = (await dump(server)).filter((item) => item.includes(target.id));
  // The tombstone, and the read group and the time of the mark until they expire.
  expect(left).toHaveLength(3);
  expect(left.join()).toContain(`T#comment#${target.id}`);
  expect(left.join()).toContain(`H#${owner.ownerId}`);
});

test("a purge of an active target changes nothing", async () => {
  const owner = createOwner(server);
  await owner.register("x");
  await owner.react("x", "A");
  const before = await dump(server);
  expect(await readKindsToPurge(worker.deps, owner.target("x"))).toEqual([]);
  expect(await purgeReactions(worker.deps, owner.target("x"), "like")).toBe(false);
  expect(await dump(server)).toEqual(before);
});

test("a purge ends the notifications of events of all owners, and removes the events", async () => {
  const owner = createOwner(server);
  await owner.register("x");
  const target = owner.target("x");
  const { deps } = worker;
  const ownerIds = [owner.ownerId, `${owner.ownerId}-a`, `${owner.ownerId}-b`];
  const event = { kind: "mention", userId: "A", displayName: "A", targetName: target, ownerIds };
  for (const eventId of ["e1", "e2"]) {
    await server.notifications.notify({ ...event, eventId });
  }
  await owner.notify("x", "e3", "B");
  await server.reactions.deleteTarget({ targetName: target });
  // The deletion itself ends those of the target's owner.
  const badges = async () =>
    (await Promise.all(ownerIds.map((ownerId) => inboxOf(deps, ownerId)))).map(
      ({ notificationCount, actorCount }) => [notificationCount, actorCount],
    );
  expect(await badges()).toEqual([
    [0, 0],
    [1, 1],
    [1, 1],
  ]);
  while (await purgeEvents(deps, target));
  expect(await badges()).toEqual(ownerIds.map(() => [0, 0]));
  await endPurge(deps, target);
  const left = (await dump(server)).filter((item) => item.includes(target.id));
  // The tombstone, and the ids of seven events until they expire.
  expect(left.filter((item) => item.includes("E#"))).toHaveLength(7);
  expect(left).toHaveLength(8);
  // A retraction afterwards finds nothing to change but the id.
  await server.notifications.retractEvent({ eventId: "e1", ownerIds });
  expect(await badges()).toEqual(ownerIds.map(() => [0, 0]));
});
