/** Tests what the purge of a deleted target removes, and what the deletion has removed before. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endPurge,
  purgeReactions,
  readKindsToPurge,
} from "../../../src/app/reactions/purge-target.ts";
import { createOwner } from "../../support/fixtures/owners.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

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
  const { deps } = server;
  expect(await readKindsToPurge(deps, target)).toEqual(["like"]);
  expect(await readKindsToPurge(deps, target)).toEqual(["like"]);
  expect(await owner.badge()).toBe("1 people in 1 at 5");
  expect(await purgeReactions(deps, target, "like")).toBe(false);
  await endPurge(deps, target);
  const left = (await dump(server)).filter((item) => item.includes(target.id));
  // The tombstone, and the read group until it expires.
  expect(left).toHaveLength(2);
  expect(left.join()).toContain(`T#comment#${target.id}`);
  expect(left.join()).toContain(`H#${owner.ownerId}`);
});

test("a purge of an active target changes nothing", async () => {
  const owner = createOwner(server);
  await owner.register("x");
  await owner.react("x", "A");
  const before = await dump(server);
  expect(await readKindsToPurge(server.deps, owner.target("x"))).toEqual([]);
  expect(await purgeReactions(server.deps, owner.target("x"), "like")).toBe(false);
  expect(await dump(server)).toEqual(before);
});
