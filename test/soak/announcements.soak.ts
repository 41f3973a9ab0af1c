/**
 * Tests streams of two servers that announce their commits to each other while Redis is stopped,
 * killed and cut off and a stranger publishes false announcements: every stream ends up with the
 * true count and has heard of the last change, also if that left all numbers as they are, and none
 * ever goes back.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAnnouncements, type TestAnnouncements } from "../support/fixtures/announcements.ts";
import { followCounts, untilTrueCounts } from "../support/fixtures/followed-counts.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { randomFrom } from "../support/models/random.ts";
import { type Redis, startRedis } from "../support/servers/redis.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { inForm, soakSeed } from "../support/soak.ts";

const ownerIds = Array.from({ length: inForm({ short: 8, long: 20 }) }, (_, i) => `owner${i}`);
const people = ["a", "b", "c", "d"];
const changesPerOwner = inForm({ short: 20, long: 60 });
/** How long a fault lasts, and how long there is none before the next one. */
const [faultMs, calmMs] = inForm({ short: [2_000, 500], long: [5_000, 2_000] });

const random = randomFrom(soakSeed(20_261_131));

let redis: Redis;
let proxies: TcpProxy[];
let servers: TestServer[];
let stranger: TestAnnouncements;

beforeAll(async () => {
  redis = await startRedis();
  proxies = [await startTcpProxy(redis.port), await startTcpProxy(redis.port)];
  servers = [];
  for (const { port } of proxies) {
    const [first] = servers;
    const tables = first && { tablePrefix: first.config.tablePrefix };
    const env = { MEGURI_ANNOUNCE_URL: `redis://127.0.0.1:${port}` };
    servers.push(await startServer({ testClock: false, env, ...tables }));
  }
  const [{ config }] = servers as [TestServer];
  const url = `redis://127.0.0.1:${redis.port}`;
  stranger = startAnnouncements({ url, prefix: config.tablePrefix });
});
afterAll(async () => {
  await stranger.close();
  for (const server of servers.toReversed()) await server.stop();
  for (const proxy of proxies) await proxy.stop();
  await redis.stop();
});

const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

/** Changes the inbox of an owner again and again, at either server. */
async function change(ownerId: string): Promise<void> {
  const targetName = { type: "post", id: ownerId };
  for (let i = 0; i < changesPerOwner; i++) {
    const { reactions, notifications } = pick(servers);
    const userId = pick(people);
    const dice = random();
    // A store that is busy with other tests may leave a call unanswered.
    await eventually(async () => {
      if (dice < 0.3) await reactions.react({ targetName, userId, displayName: userId });
      else if (dice < 0.5) await reactions.unreact({ targetName, userId });
      else if (dice < 0.9) {
        await notifications.notify({ targetName, kind: "comment", userId, eventId: `${i}` });
      } else {
        const { unreadCount } = await notifications.getUnreadCount({ ownerId });
        const version = unreadCount?.version;
        if (version) await notifications.markAllNotificationsRead({ ownerId, version });
      }
    });
    await sleep(500 * random());
  }
}

/** One fault after another, each long enough to be noticed, and its end. */
async function disturb(): Promise<void> {
  const [first, second] = proxies as [TcpProxy, TcpProxy];
  const faults: (readonly [begin: () => unknown, end: () => unknown])[] = [
    [redis.kill, redis.restart],
    [first.cut, first.restore],
    [redis.pause, redis.resume],
    [second.hang, second.restore],
  ];
  for (const [begin, end] of faults) {
    await begin();
    await sleep(faultMs);
    await end();
    await sleep(calmMs);
  }
}

test("streams end up with the true counts, whatever happens to announcements", async () => {
  for (const ownerId of ownerIds) {
    const targetName = { type: "post", id: ownerId };
    await (servers[0] as TestServer).reactions.registerTarget({ targetName, ownerId });
  }
  const streams = servers.map((server) => followCounts(server, ownerIds));
  const lying = setInterval(() => {
    for (const ownerId of ownerIds) stranger.announce(ownerId, Math.floor(1e12 * random()));
  }, 10);
  await Promise.all([...ownerIds.map(change), disturb()]);
  clearInterval(lying);
  await untilTrueCounts(pick(servers).deps, ownerIds, streams);
  for (const { stepsBack, leave } of streams) {
    expect(stepsBack).toEqual([]);
    await leave();
  }
});
