/** Tests announcements from process to process by a real Redis server. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  startAnnouncements,
  type TestAnnouncements,
} from "../../support/fixtures/announcements.ts";
import { type Redis, startRedis } from "../../support/servers/redis.ts";

let redis: Redis;
const started: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const { close } of started.splice(0)) await close();
});
afterAll(() => redis.stop());

function start(options: Partial<Parameters<typeof startAnnouncements>[0]> = {}) {
  const url = `redis://127.0.0.1:${redis.port}`;
  const announcements = startAnnouncements({ url, ...options });
  started.push(announcements);
  return announcements;
}

/** Waits until the owners are subscribed. */
const subscribe = async (announcements: TestAnnouncements, ...ownerIds: string[]) => {
  for (const ownerId of ownerIds) announcements.subscribe(ownerId);
  await expect.poll(() => announcements.subscribed).toEqual(new Set(ownerIds));
};

describe("an announcement", () => {
  test("arrives at the processes that have subscribed to its owner", async () => {
    const [here, there, elsewhere] = [start(), start(), start()];
    await subscribe(there, "a", "o/ 小林 #1");
    await subscribe(elsewhere, "b");
    here.announce("a", 7);
    here.announce("b", 8);
    here.announce("c", 9);
    here.announce("o/ 小林 #1", 2 ** 40);
    await expect.poll(() => there.announced).toEqual(["a: 7", "o/ 小林 #1: 1099511627776"]);
    await expect.poll(() => elsewhere.announced).toEqual(["b: 8"]);
    expect(here.announced).toEqual([]);
  });

  test("of another deployment does not arrive", async () => {
    const [here, there] = [start(), start()];
    await subscribe(there, "a");
    const other = start({ prefix: "other-" });
    await subscribe(other, "a");
    other.announce("a", 1);
    await expect.poll(() => other.announced).toEqual(["a: 1"]);
    here.announce("a", 2);
    await expect.poll(() => there.announced).toEqual(["a: 2"]);
  });

  test("of an owner who is not subscribed any more does not arrive", async () => {
    const [here, there] = [start(), start()];
    await subscribe(there, "a", "b", "c");
    there.unsubscribe("a");
    // Whoever comes back at once goes on without a gap, and is told so.
    there.unsubscribe("b");
    there.subscribed.clear();
    there.subscribe("b");
    await expect.poll(() => there.subscribed).toEqual(new Set(["b"]));
    await subscribe(there, "b", "d");
    for (const ownerId of ["a", "b", "c", "d"]) here.announce(ownerId, 1);
    await expect.poll(() => there.announced).toEqual(["b: 1", "c: 1", "d: 1"]);
  });

  test("says the newest version of many commits at once", async () => {
    const [here, there] = [start(), start()];
    await subscribe(there, "hot", "end");
    await subscribe(here, "ready");
    for (let version = 1; version <= 5_000; version++) {
      here.announce("hot", version);
      if (version % 50 === 0) await new Promise(setImmediate);
    }
    here.announce("hot", 4_999);
    here.announce("end", 1);
    await expect.poll(() => there.announced.at(-1)).toBe("end: 1");
    expect(there.announced.at(-2)).toBe("hot: 5000");
    expect(there.announced.length).toBeLessThan(100);
  });

  test("is sent before the process ends", async () => {
    const [here, there] = [start(), start()];
    await subscribe(there, "a");
    await subscribe(here, "ready");
    here.announce("a", 1);
    await new Promise(setImmediate);
    here.announce("a", 2);
    await here.close();
    await expect.poll(() => there.announced.at(-1)).toBe("a: 2");
  });

  test("that nobody can read is ignored", async () => {
    const there = start();
    await subscribe(there, "a");
    const channel = "test-inbox:a";
    const texts = ["", "x", "-1", "1.5", "1e9", " 1", "0x1", "9".repeat(16), "Infinity", "NaN"];
    for (const text of texts) await redis.send("PUBLISH", channel, text);
    for (const byte of [0, 0x39, 255]) {
      await redis.send("PUBLISH", channel, Buffer.alloc(2 ** 20, byte));
    }
    await redis.send("PUBLISH", channel, "3");
    await expect.poll(() => there.announced).toEqual(["a: 3"]);
    expect(there.lines).toEqual([]);
  });
});
