/** Tests that servers over one store announce their commits to each other by a Redis server. */
import { createClient } from "@redis/client";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../../support/fixtures/waiting.ts";
import { readPage } from "../../../support/servers/operators.ts";
import { type Redis, startRedis } from "../../../support/servers/redis.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";

let redis: Redis;
let here: TestServer;
let there: TestServer;

beforeAll(async () => {
  redis = await startRedis();
  const env = { MEGURI_ANNOUNCE_URL: `redis://127.0.0.1:${redis.port}` };
  here = await startServer({ testClock: false, env });
  there = await startServer({ testClock: false, env, tablePrefix: here.config.tablePrefix });
});
afterAll(async () => {
  await there.stop();
  await here.stop();
  await redis.stop();
});

/** Opens a stream of the owner at a server. Reads numbers of people, as they change. */
function watch(ownerId: string, { notifications } = there) {
  const leaving = new AbortController();
  const messages = notifications.watchUnreadCounts(
    { watches: [{ ownerId }] },
    { signal: leaving.signal },
  );
  const iterator = messages[Symbol.asyncIterator]();
  return {
    async people(): Promise<number | undefined> {
      const { content } = (await iterator.next()).value ?? {};
      const update = content?.case === "update" ? content.value : undefined;
      return update && Number(update.unreadCount?.actorCount);
    },
    leave: () => leaving.abort(),
  };
}

/** Waits until both servers are subscribed to the owner. What is announced before is lost. */
async function bothAreSubscribed(ownerId: string): Promise<void> {
  const channel = `${here.config.tablePrefix}inbox:${ownerId}`;
  const client = createClient({ url: `redis://127.0.0.1:${redis.port}` });
  await client.connect();
  await eventually(async () => {
    expect((await client.pubSubNumSub([channel]))[channel]).toBe(2);
  });
  client.destroy();
}

async function react(ownerId: string, userId: string, server = here): Promise<void> {
  const targetName = { type: "post", id: ownerId };
  await server.reactions.registerTarget({ targetName, ownerId });
  await server.reactions.react({ targetName, userId, displayName: userId });
}

test("every kind of change reaches the stream of another server without its polls", async () => {
  const ownerId = "announced";
  const targetName = { type: "post", id: ownerId };
  const stream = watch(ownerId);
  const ownStream = watch(ownerId, here);
  for (const each of [stream, ownStream]) expect(await each.people()).toBe(0);
  await bothAreSubscribed(ownerId);
  const polls = vi.spyOn(there.deps.reader, "inboxes").mockRejectedValue(new Error("no polls"));
  onTestFinished(() => polls.mockRestore());
  await react(ownerId, "a");
  expect(await stream.people()).toBe(1);
  const comment = { targetName, kind: "comment", userId: "b" };
  await here.notifications.notify({ ...comment, eventId: "e1" });
  expect(await stream.people()).toBe(2);
  // A second event of one person changes no number of the count.
  await here.notifications.notify({ ...comment, eventId: "e2" });
  expect(await stream.people()).toBe(2);
  await here.reactions.unreact({ targetName, userId: "a" });
  expect(await stream.people()).toBe(1);
  await here.notifications.markAllNotificationsRead({ ownerId, version: 4n });
  expect(await stream.people()).toBe(0);
  await react(ownerId, "c");
  expect(await stream.people()).toBe(1);
  await here.reactions.deleteTarget({ targetName });
  expect(await stream.people()).toBe(0);
  stream.leave();
  ownStream.leave();
});

test("without the channel, both servers are ready, and polls find the changes", async () => {
  const ownerId = "polled";
  const stream = watch(ownerId);
  expect(await stream.people()).toBe(0);
  await redis.kill();
  await react(ownerId, "a");
  expect(await stream.people()).toBe(1);
  for (const { operatorsPort } of [here, there]) {
    expect(await readPage(operatorsPort, "/readyz")).toMatchObject({ status: 200 });
  }
  await redis.restart();
  await react(ownerId, "b", there);
  expect(await stream.people()).toBe(2);
  stream.leave();
});
