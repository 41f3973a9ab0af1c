/** Tests unread count streams on a store whose inboxes the test sets. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import type { Reader } from "../../src/app/ports/deps.ts";
import type { UnreadCountEvent, UnreadCountStreams } from "../../src/app/ports/unread-counts.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { Inbox } from "../../src/domain/notification.ts";
import {
  createUnreadCountStreams,
  type UnreadCountStreamsDeps,
} from "../../src/runtime/unread-count-streams.ts";
import { patience } from "../support/fixtures/waiting.ts";

/** Longer than any test, so that no poll happens. */
const never = 600_000;

const inbox = (n: number): Inbox => ({ version: n, groupCount: 1, peopleCount: n });

const counts = (n: number): UnreadCountEvent => ({ inbox: inbox(n) });

/** A store without inboxes that records its polls. */
function createStore() {
  const inboxes = new Map<string, Inbox>();
  const polls: string[][] = [];
  const store = {
    inboxes,
    polls,
    failure: undefined as Error | undefined,
    reader: {
      get: async ({ id }: { id: string }) => {
        if (store.failure) throw store.failure;
        const value = inboxes.get(id);
        return value && { value, version: value.version };
      },
      inboxes: async (ownerIds: readonly string[]) => {
        polls.push([...ownerIds]);
        if (store.failure) throw store.failure;
        return new Map([...inboxes].filter(([ownerId]) => ownerIds.includes(ownerId)));
      },
    } as Pick<Reader, "get" | "inboxes">,
  };
  return store;
}

let store: ReturnType<typeof createStore>;
let unreadCounts: UnreadCountStreams;
let lines: Record<string, unknown>[];

function create(options: Partial<UnreadCountStreamsDeps> = {}): void {
  store = createStore();
  lines = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { reader } = store;
  unreadCounts = createUnreadCountStreams({
    reader,
    log,
    maxStreams: 9,
    pollMs: never,
    ...options,
  });
}
afterEach(() => unreadCounts.close());

/** Opens a stream that the test reads message by message. */
function open(ownerId: string, signal = new AbortController().signal) {
  const events = unreadCounts.watch(ownerId, signal)[Symbol.asyncIterator]();
  const next = async (): Promise<UnreadCountEvent | undefined> => (await events.next()).value;
  return { next, leave: () => events.return?.() };
}

describe("a stream", () => {
  test("begins with the stored count, or with zeros for an unknown owner", async () => {
    create();
    store.inboxes.set("o", inbox(7));
    expect(await open("o").next()).toEqual(counts(7));
    expect(await open("nobody").next()).toEqual({
      inbox: { version: 0, groupCount: 0, peopleCount: 0 },
    });
  });

  test("begins with a count that is read after it was opened", async () => {
    create();
    store.inboxes.set("o", inbox(1));
    const first = open("o");
    await first.next();
    store.inboxes.set("o", inbox(2));
    expect(await open("o").next()).toEqual(counts(2));
    expect(await first.next()).toEqual(counts(2));
  });

  test("gets the commits of its own process at once", async () => {
    create();
    const one = open("o");
    const two = open("o");
    await Promise.all([one.next(), two.next()]);
    unreadCounts.publish("o", inbox(1));
    unreadCounts.publish("other", inbox(5));
    expect(await Promise.all([one.next(), two.next()])).toEqual([counts(1), counts(1)]);
  });

  test("gets the changes of other processes through polls", async () => {
    create({ pollMs: 5 });
    const stream = open("o");
    await stream.next();
    for (const n of [1, 2, 3]) {
      store.inboxes.set("o", inbox(n));
      expect(await stream.next()).toEqual(counts(n));
    }
  });

  test("never goes back", async () => {
    create({ pollMs: 5 });
    store.inboxes.set("o", inbox(3));
    const stream = open("o");
    expect(await stream.next()).toEqual(counts(3));
    unreadCounts.publish("o", inbox(5));
    expect(await stream.next()).toEqual(counts(5));
    // The store's copy lags, and a commit is published late.
    const polled = store.polls.length;
    await expect.poll(() => store.polls.length, patience).toBeGreaterThan(polled + 1);
    unreadCounts.publish("o", inbox(4));
    unreadCounts.publish("o", inbox(5));
    unreadCounts.publish("o", inbox(6));
    expect(await stream.next()).toEqual(counts(6));
  });

  test("that is read slowly gets only the latest count", async () => {
    create();
    const stream = open("o");
    await stream.next();
    for (let n = 1; n <= 1_000; n++) unreadCounts.publish("o", inbox(n));
    expect(await stream.next()).toEqual(counts(1_000));
    unreadCounts.publish("o", inbox(1_001));
    expect(await stream.next()).toEqual(counts(1_001));
  });

  test("ends with its signal, also while it waits", async () => {
    create();
    const leaving = new AbortController();
    const stream = open("o", leaving.signal);
    await stream.next();
    const waiting = stream.next();
    leaving.abort();
    expect(await waiting).toBeUndefined();
    expect(await open("o", leaving.signal).next()).toBeUndefined();
  });

  test("ends with the error of its first read", async () => {
    create();
    store.failure = new DomainError("STORE_UNAVAILABLE", "no answer");
    await expect(open("o").next()).rejects.toBe(store.failure);
  });

  test("ends after its time", async () => {
    create({ limitMs: 20 });
    const stream = open("o");
    await stream.next();
    expect(await stream.next()).toEqual({ end: "TIME_LIMIT" });
    expect(await stream.next()).toBeUndefined();
  });

  test("ends when the server drains, and so do streams that are opened later", async () => {
    create();
    const stream = open("o");
    await stream.next();
    unreadCounts.publish("o", inbox(1));
    unreadCounts.close();
    unreadCounts.publish("o", inbox(2));
    for (const each of [stream, open("o")]) {
      expect(await each.next()).toEqual({ end: "DRAINING" });
      expect(await each.next()).toBeUndefined();
    }
  });
});

describe("the limit of streams", () => {
  const refused = { reason: "TOO_MANY_STREAMS", retryable: true };

  test("counts the streams of all owners", async () => {
    create({ maxStreams: 2 });
    const streams = [open("o"), open("o")];
    for (const stream of streams) await stream.next();
    await expect(open("p").next()).rejects.toMatchObject(refused);
    await streams[0]?.leave();
    expect(await open("p").next()).toBeDefined();
    await expect(open("o").next()).rejects.toMatchObject(refused);
  });

  test("has a free place when a client leaves, even if its stream is not read", async () => {
    create({ maxStreams: 1 });
    const leaving = new AbortController();
    await open("o", leaving.signal).next();
    leaving.abort();
    expect(await open("o").next()).toBeDefined();
  });

  test("has a free place when a stream could not begin, or has ended", async () => {
    create({ maxStreams: 1, limitMs: 20 });
    store.failure = new Error("gone");
    await expect(open("o").next()).rejects.toThrow("gone");
    store.failure = undefined;
    const stream = open("o");
    await stream.next();
    expect(await stream.next()).toEqual({ end: "TIME_LIMIT" });
    expect(await stream.next()).toBeUndefined();
    expect(await open("o").next()).toBeDefined();
  });
});

describe("polls", () => {
  test("read each owner once, a hundred in a request", async () => {
    create({ pollMs: 5, maxStreams: 1_000 });
    const ownerIds = Array.from({ length: 250 }, (_, i) => `o${i}`);
    for (const ownerId of [...ownerIds, ...ownerIds]) await open(ownerId).next();
    const polled = store.polls.length;
    await expect.poll(() => store.polls.length, patience).toBeGreaterThan(polled + 6);
    const sizes = store.polls.slice(-6).map(({ length }) => length);
    expect(sizes.sort((a, b) => b - a)).toEqual([100, 100, 100, 100, 50, 50]);
    const last = store.polls.findLastIndex(({ length }) => length === 50);
    const whole = store.polls.slice(last - 2, last + 1).flat();
    expect(new Set(whole)).toEqual(new Set(ownerIds));
  });

  test("stop while no stream is open", async () => {
    create({ pollMs: 1 });
    const quiet = async () => {
      // A poll that was under way ends.
      await sleep(20);
      const polled = store.polls.length;
      await sleep(50);
      return store.polls.length === polled;
    };
    expect(await quiet()).toBe(true);
    for (let round = 0; round < 3; round++) {
      const streams = [open("o"), open("p")];
      for (const stream of streams) await stream.next();
      const polled = store.polls.length;
      await expect.poll(() => store.polls.length, patience).toBeGreaterThan(polled);
      for (const stream of streams) await stream.leave();
      expect(await quiet()).toBe(true);
    }
    const stream = open("o");
    await stream.next();
    unreadCounts.close();
    expect(await quiet()).toBe(true);
  });

  test("that fail are logged once, and the streams stay open", async () => {
    create({ pollMs: 5 });
    const stream = open("o");
    await stream.next();
    const lasts = async () => {
      const polled = store.polls.length;
      await expect.poll(() => store.polls.length, patience).toBeGreaterThan(polled + 3);
    };
    store.failure = new Error("gone");
    await lasts();
    expect(lines).toMatchObject([{ level: 40, err: { message: "gone" } }]);
    store.failure = undefined;
    store.inboxes.set("o", inbox(1));
    expect(await stream.next()).toEqual(counts(1));
    await lasts();
    expect(lines).toMatchObject([{ level: 40 }, { level: 30 }]);
  });
});

test("closed streams do not keep a process running", async () => {
  const script = `
    import { pino } from "pino";
    import { createUnreadCountStreams } from "./src/runtime/unread-count-streams.ts";
    const reader = { get: async () => undefined, inboxes: async () => new Map() };
    const unreadCounts = createUnreadCountStreams({ reader, log: pino(), maxStreams: 9 });
    const signal = new AbortController().signal;
    const streams = ["a", "b"].map((ownerId) => unreadCounts.watch(ownerId, signal));
    for (const stream of streams) await stream.next();
    unreadCounts.close();
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { cwd: new URL("../..", import.meta.url) },
  );
  expect(stdout).toBe("");
});
