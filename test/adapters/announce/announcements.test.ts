/** Tests announcements from process to process by a real Redis server. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  startAnnouncements,
  type TestAnnouncements,
} from "../../support/fixtures/announcements.ts";
import { createAuthority, loopbackNames } from "../../support/fixtures/certificates.ts";
import { patience } from "../../support/fixtures/waiting.ts";
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

/** Sends a command as a stranger does, and waits until the server has executed it. */
async function send(...args: (string | Buffer)[]): Promise<void> {
  const socket = connect(redis.port, "127.0.0.1");
  socket.write(`*${args.length}\r\n`);
  for (const arg of args.map((text) => Buffer.from(text))) {
    socket.write(`$${arg.length}\r\n`);
    socket.write(arg);
    socket.write("\r\n");
  }
  await once(socket, "data");
  socket.destroy();
}

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
    for (const text of texts) await send("PUBLISH", channel, text);
    for (const byte of [0, 0x39, 255]) {
      await send("PUBLISH", channel, Buffer.alloc(2 ** 20, byte));
    }
    await send("PUBLISH", channel, "3");
    await expect.poll(() => there.announced).toEqual(["a: 3"]);
    expect(there.lines).toEqual([]);
  });
});

describe("the server", () => {
  test("may be away at the start, and be killed: later announcements arrive", async () => {
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

  test("that hangs is left after some seconds, and found again", async () => {
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

  test("that refuses the password, or the commands, is asked again until it does not", async () => {
    const commands = ["-@all", "+@connection", "+@pubsub"];
    await send("ACL", "SETUSER", "meguri", "on", ">right", "resetchannels", ...commands);
    const url = (password: string) => `redis://meguri:${password}@127.0.0.1:${redis.port}`;
    const [wrong, right] = [start({ url: url("wrong") }), start({ url: url("right") })];
    await expect.poll(() => wrong.lines[0]?.err?.message).toContain("WRONGPASS");
    await expect.poll(() => right.lines[0]?.err?.message).toContain("NOPERM");
    await send("ACL", "SETUSER", "meguri", ">wrong", "&test-*");
    for (const announcements of [wrong, right]) {
      await subscribe(announcements, "a");
      expect(announcements.lines).toMatchObject([{ level: 40 }, { level: 30 }]);
    }
  });

  test("may be one with TLS, whose certificate is verified", async () => {
    const folder = await mkdtemp(join(tmpdir(), "meguri-redis-"));
    const authority = await createAuthority("authority");
    const { cert, key } = await authority.issue(loopbackNames);
    const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
    await writeFile(tls.certFile, cert);
    await writeFile(tls.keyFile, key);
    const secure = await startRedis({ tls, password: "s%cret" });
    try {
      const url = `rediss://:s%25cret@127.0.0.1:${secure.port}`;
      const other = start({ url });
      await expect.poll(() => other.lines).toMatchObject([{ level: 40 }]);
      const [here, there] = [
        start({ url, ca: authority.cert }),
        start({ url, ca: authority.cert }),
      ];
      await subscribe(there, "a");
      here.announce("a", 1);
      await expect.poll(() => there.announced).toEqual(["a: 1"]);
      expect(JSON.stringify([other.lines, here.lines])).not.toContain("cret");
    } finally {
      await secure.stop();
      await rm(folder, { recursive: true });
    }
  });
});

test("a process ends while the server hangs", async () => {
  const here = start();
  await subscribe(here, "a");
  redis.pause();
  here.announce("a", 1);
  await here.close();
  redis.resume();
  await vi.waitFor(() => expect(here.subscribed).toEqual(new Set()), patience);
});
