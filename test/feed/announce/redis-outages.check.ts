/** Tests announcements while their Redis server is away, hangs or refuses its clients. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "vitest";
import {
  startAnnouncements,
  type TestAnnouncements,
} from "../../support/fixtures/announcements.ts";
import { createAuthority, loopbackNames } from "../../support/fixtures/certificates.ts";
import { type RedisOptions, startRedis } from "../../support/servers/redis.ts";

/** Starts a server for one test, and announcements by it, which end before it. */
async function startSite({ expect, onTestFinished }: TestContext, options?: RedisOptions) {
  const redis = await startRedis(options);
  const started: TestAnnouncements[] = [];
  onTestFinished(async () => {
    for (const { close } of started) await close();
    await redis.stop();
  });
  return {
    redis,
    start(more: Partial<Parameters<typeof startAnnouncements>[0]> = {}) {
      const url = `redis://127.0.0.1:${redis.port}`;
      const announcements = startAnnouncements({ url, ...more });
      started.push(announcements);
      return announcements;
    },
    /** Waits until the owners are subscribed. */
    async subscribe(announcements: TestAnnouncements, ...ownerIds: string[]) {
      for (const ownerId of ownerIds) announcements.subscribe(ownerId);
      await expect.poll(() => announcements.subscribed).toEqual(new Set(ownerIds));
    },
  };
}

describe.concurrent("the server", () => {
  test("may be away at the start, and be killed: later announcements arrive", async (context) => {
    const { expect } = context;
    const { redis, start } = await startSite(context);
    await redis.kill();
    const [here, there] = [start(), start()];
    for (const ownerId of ["a", "b"]) there.subscribe(ownerId);
    await expect.poll(() => there.lines).toMatchObject([{ level: 40 }]);
    here.announce("a", 1);
    await redis.restart();
    await expect.poll(() => there.subscribed).toEqual(new Set(["a", "b"]));
    await expect.poll(() => here.lines).toMatchObject([{ level: 40 }, { level: 30 }]);
    here.announce("a", 2);
    await expect.poll(() => there.announced.at(-1)).toBe("a: 2");

    await redis.kill();
    await expect.poll(() => there.subscribed).toEqual(new Set());
    await expect.poll(() => here.lines).toMatchObject([{}, {}, { level: 40 }]);
    for (let version = 3; version <= 9; version++) here.announce("b", version);
    const late = start();
    late.subscribe("b");
    await redis.restart();
    await expect.poll(() => there.subscribed).toEqual(new Set(["a", "b"]));
    await expect.poll(() => late.subscribed).toEqual(new Set(["b"]));
    here.announce("b", 10);
    await expect.poll(() => there.announced.at(-1)).toBe("b: 10");
    await expect.poll(() => late.announced.at(-1)).toBe("b: 10");
    const levels = [{ level: 40 }, { level: 30 }, { level: 40 }, { level: 30 }];
    await expect.poll(() => there.lines).toMatchObject(levels);
  });

  test("that hangs is left after some seconds, and found again", async (context) => {
    const { expect } = context;
    const { redis, start, subscribe } = await startSite(context);
    const [here, there] = [start(), start()];
    await subscribe(there, "a");
    await subscribe(here, "ready");
    redis.pause();
    for (let i = 0; i < 20_000; i++) here.announce(`o${i}`, 1);
    await expect.poll(() => there.subscribed).toEqual(new Set());
    await expect.poll(() => there.lines).toMatchObject([{ level: 40 }]);
    redis.resume();
    await expect.poll(() => there.subscribed).toEqual(new Set(["a"]));
    await expect.poll(() => here.subscribed).toEqual(new Set(["ready"]));
    here.announce("a", 1);
    await expect.poll(() => there.announced).toContain("a: 1");
    expect(there.lines).toMatchObject([{ level: 40 }, { level: 30 }]);
  });

  test("that refuses the password or the commands is asked until it does not", async (context) => {
    const { expect } = context;
    const { redis, start, subscribe } = await startSite(context);
    const commands = ["-@all", "+@connection", "+@pubsub"];
    await redis.send("ACL", "SETUSER", "meguri", "on", ">right", "resetchannels", ...commands);
    const url = (password: string) => `redis://meguri:${password}@127.0.0.1:${redis.port}`;
    const [wrong, right] = [start({ url: url("wrong") }), start({ url: url("right") })];
    await expect.poll(() => wrong.lines[0]?.err?.message).toContain("WRONGPASS");
    await expect.poll(() => right.lines[0]?.err?.message).toContain("NOPERM");
    await redis.send("ACL", "SETUSER", "meguri", ">wrong", "&test-*");
    for (const announcements of [wrong, right]) {
      await subscribe(announcements, "a");
      expect(announcements.lines).toMatchObject([{ level: 40 }, { level: 30 }]);
    }
  });

  test("may be one with TLS, whose certificate is verified", async (context) => {
    const { expect, onTestFinished } = context;
    const folder = await mkdtemp(join(tmpdir(), "meguri-redis-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const authority = await createAuthority("authority");
    const { cert, key } = await authority.issue(loopbackNames);
    const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
    await writeFile(tls.certFile, cert);
    await writeFile(tls.keyFile, key);
    const options = { tls, password: "s%cret" };
    const { redis, start, subscribe } = await startSite(context, options);
    const url = `rediss://:s%25cret@127.0.0.1:${redis.port}`;
    const other = start({ url });
    await expect.poll(() => other.lines).toMatchObject([{ level: 40 }]);
    const [here, there] = [start({ url, ca: authority.cert }), start({ url, ca: authority.cert })];
    await subscribe(there, "a");
    here.announce("a", 1);
    await expect.poll(() => there.announced).toEqual(["a: 1"]);
    expect(JSON.stringify([other.lines, here.lines])).not.toContain("cret");
  });

  test("may hang while a process ends", async (context) => {
    const { expect } = context;
    const { redis, start, subscribe } = await startSite(context);
    const here = start();
    await subscribe(here, "a");
    redis.pause();
    here.announce("a", 1);
    await here.close();
    redis.resume();
    await expect.poll(() => here.subscribed).toEqual(new Set());
  });
});
