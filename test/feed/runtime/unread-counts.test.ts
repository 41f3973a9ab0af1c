/** Tests unread count streams on a store whose inboxes the test sets, mostly in faked time. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import {
  createUnreadCounts,
  inbox,
  minuteMs,
  pass,
  tenths,
  type UnreadCountFixture,
  useFakedTime,
} from "../../support/fixtures/unread-count-fixture.ts";

let store: UnreadCountFixture["store"];
let unreadCounts: UnreadCountFixture["unreadCounts"];
let open: UnreadCountFixture["open"];
let read: UnreadCountFixture["read"];
let follow: UnreadCountFixture["follow"];
let pollsIn: UnreadCountFixture["pollsIn"];

function create(maxStreams?: number): void {
  ({ store, unreadCounts, open, read, follow, pollsIn } = createUnreadCounts(maxStreams));
}

useFakedTime(create, () => unreadCounts);

describe("a stream", () => {
  test("begins with the stored count, or with zeros for an unknown owner", async () => {
    store.inboxes.set("o", inbox(7));
    expect((await follow("o")).events).toEqual([
      {
        ownerId: "o",
        version: 7,
        badge: { notificationCount: 1, actorCount: 7, unseenNotificationCount: 0, kindCounts: {} },
      },
    ]);
    expect((await follow("nobody")).events).toEqual([
      {
        ownerId: "nobody",
        version: 0,
        badge: { notificationCount: 0, actorCount: 0, unseenNotificationCount: 0, kindCounts: {} },
      },
    ]);
  });

  test("begins with the latest known count of an owner who is watched already", async () => {
    store.inboxes.set("o", inbox(1));
    const first = await follow("o");
    store.inboxes.set("o", inbox(2));
    const second = await follow("o");
    expect(second.texts()).toEqual(["o: 1 people at 1"]);
    expect(store.reads).toEqual([["o"]]);
    await pass(1_500);
    for (const { texts } of [first, second]) {
      expect(texts()).toEqual(["o: 1 people at 1", "o: 2 people at 2"]);
    }
  });

  test("never begins with an older count than the client knows", async () => {
    store.inboxes.set("o", inbox(1));
    await follow("o");
    store.inboxes.set("o", inbox(2));
    expect((await follow(["o", 2])).texts()).toEqual([]);
    store.inboxes.set("o", inbox(4));
    expect((await follow(["o", 3])).texts()).toEqual(["o: 4 people at 4"]);
  });

  test("begins without a count that the client knows", async () => {
    store.inboxes.set("same", inbox(7));
    store.inboxes.set("unchanged", inbox(9, 7, 7));
    store.inboxes.set("seen between", inbox(9, 7, 6));
    store.inboxes.set("changed", inbox(8, 7));
    // The table was restored from a backup.
    store.inboxes.set("older", inbox(6));
    const ownerIds = [...store.inboxes.keys()];
    const known = ownerIds.map((ownerId) => [ownerId, 7] as const);
    const stream = await follow(...known, ["unknown", 0]);
    expect(stream.texts()).toEqual([
      "changed: 7 people at 8",
      "older: 6 people at 6",
      "unknown: 0 people at 0",
    ]);
    for (const ownerId of ownerIds.slice(0, 3)) {
      unreadCounts.publish(ownerId, inbox(10, 7, store.inboxes.get(ownerId)?.changeVersion));
    }
    await pass(0);
    expect(stream.events).toHaveLength(3);
    for (const ownerId of ownerIds.slice(0, 3)) unreadCounts.publish(ownerId, inbox(11));
    await pass(0);
    expect(stream.texts().slice(3)).toEqual(
      ownerIds.slice(0, 3).map((ownerId) => `${ownerId}: 11 people at 11`),
    );
  });

  test("begins with a count that was published before the read of a known one", async () => {
    store.inboxes.set("o", inbox(7));
    const stream = follow(["o", 7]);
    unreadCounts.publish("o", inbox(8));
    expect((await stream).texts()).toEqual(["o: 8 people at 8"]);
  });

  test("gets the commits of its own process at once", async () => {
    const streams = [await follow("o"), await follow("o")];
    unreadCounts.publish("o", inbox(1));
    unreadCounts.publish("other", inbox(5));
    await pass(0);
    for (const { texts } of streams) {
      expect(texts()).toEqual(["o: 0 people at 0", "o: 1 people at 1"]);
    }
  });

  test("gets a change that leaves all numbers as they are", async () => {
    store.inboxes.set("o", inbox(1));
    const stream = await follow("o");
    unreadCounts.publish("o", inbox(2, 1));
    await pass(0);
    store.inboxes.set("o", inbox(5, 1, 3));
    await pass(1_500);
    expect(stream.texts()).toEqual(["o: 1 people at 1", "o: 1 people at 2", "o: 1 people at 5"]);
  });

  test("gets nothing while nothing unread changes, and its owner stays quiet", async () => {
    store.inboxes.set("o", inbox(1, 5));
    const stream = await follow("o");
    await pass(minuteMs);
    const hidden = (version: number) => inbox(version, 5, 1);
    for (let version = 2; version <= 100; version++) unreadCounts.publish("o", hidden(version));
    for (let version = 101; version <= 200; version++) {
      unreadCounts.publish("o", hidden(version));
      await pass(0);
    }
    store.inboxes.set("o", hidden(201));
    expect(await pollsIn(minuteMs)).toBeLessThanOrEqual(13);
    expect(stream.texts()).toEqual(["o: 5 people at 1"]);
    unreadCounts.publish("o", { ...inbox(202, 5), notificationCount: 2 });
    await pass(0);
    unreadCounts.publish("o", { ...inbox(203, 6), notificationCount: 2 });
    await pass(0);
    expect(stream.texts().slice(1)).toEqual(["o: 5 people at 202", "o: 6 people at 203"]);
  });

  test("gets a change of nothing but the unseen notifications", async () => {
    store.inboxes.set("o", { ...inbox(3), unseen: [3] });
    const stream = await follow("o");
    unreadCounts.publish("o", { ...inbox(4, 3), seenVersion: 3 });
    await pass(0);
    const unseen = stream.events.map(
      (event) => "badge" in event && event.badge.unseenNotificationCount,
    );
    expect(unseen).toEqual([1, 0]);
  });

  test("gets the changes of other processes through polls", async () => {
    const stream = await follow("o");
    for (const n of [1, 2, 3]) {
      store.inboxes.set("o", inbox(n));
      await pass(1_500);
      expect(stream.texts().at(-1)).toBe(`o: ${n} people at ${n}`);
    }
  });

  test("never goes back", async () => {
    store.inboxes.set("o", inbox(3));
    const stream = await follow("o");
    // Polls lag behind, and commits are published late.
    store.lagging = new Map(store.inboxes);
    store.inboxes.set("o", inbox(5));
    unreadCounts.publish("o", inbox(5));
    expect(await pollsIn(5_000)).toBeGreaterThan(1);
    store.lagging = new Map();
    expect(await pollsIn(5_000)).toBeGreaterThan(1);
    for (const n of [4, 5, 6]) unreadCounts.publish("o", inbox(n));
    await pass(0);
    expect(stream.texts()).toEqual(["o: 3 people at 3", "o: 5 people at 5", "o: 6 people at 6"]);
  });

  test.each([
    ["an older count", inbox(6), "o: 6 people at 6"],
    ["no count", undefined, "o: 0 people at 0"],
  ])("goes back to %s of a table that was restored from a backup", async (_, restored, text) => {
    store.inboxes.set("o", inbox(20));
    const stream = await follow("o");
    if (restored) store.inboxes.set("o", restored);
    else store.inboxes.delete("o");
    await pass(1_500);
    expect(stream.texts()).toEqual(["o: 20 people at 20", text]);
    store.inboxes.set("o", inbox(7));
    await pass(1_500);
    expect(stream.texts().slice(2)).toEqual(["o: 7 people at 7"]);
  });

  test("does not go back to a count that was read before the latest commit", async () => {
    store.inboxes.set("o", inbox(20));
    const stream = await follow("o");
    const slow = Promise.withResolvers<void>();
    store.delay = slow.promise;
    store.inboxes.set("o", inbox(6));
    await pass(1_500);
    expect(store.reads).toHaveLength(2);
    store.inboxes.set("o", inbox(21));
    unreadCounts.publish("o", inbox(21));
    slow.resolve();
    await pass(1_500);
    expect(stream.texts()).toEqual(["o: 20 people at 20", "o: 21 people at 21"]);
  });

  test("that is read slowly gets only the latest counts", async () => {
    const stream = open(["o", "p"]);
    expect([await stream.next(), await stream.next()]).toEqual([
      "o: 0 people at 0",
      "p: 0 people at 0",
    ]);
    for (let n = 1; n <= 1_000; n++) unreadCounts.publish("o", inbox(n));
    unreadCounts.publish("p", inbox(1));
    expect(await stream.next()).toBe("o: 1000 people at 1000");
    // An owner that keeps changing does not hold up another one.
    unreadCounts.publish("o", inbox(1_001));
    expect(await stream.next()).toBe("p: 1 people at 1");
    expect(await stream.next()).toBe("o: 1001 people at 1001");
  });

  test("ends with its signal, also while it waits", async () => {
    const leaving = new AbortController();
    const stream = open(["o"], leaving);
    await stream.next();
    const waiting = stream.next();
    leaving.abort();
    expect(await waiting).toBeUndefined();
    expect(await open(["o"], leaving).next()).toBeUndefined();
  });

  test("ends with the error of a first read", async () => {
    store.failure = new DomainError("STORE_UNAVAILABLE", "no answer");
    await expect(open(["o", "p"]).next()).rejects.toBe(store.failure);
  });
});

/** Opens streams of an owner each, and returns the messages and times of their ends later. */
function readMany(count: number) {
  const start = performance.now();
  const streams = Array.from({ length: count }, (_, i) => read(`o${i}`));
  return () =>
    streams.flatMap(({ events, times }) => {
      const [last, at] = [events.at(-1), times.at(-1)];
      return last && at !== undefined && "end" in last ? [{ ...last, ms: at - start }] : [];
    });
}

describe("many streams that began together", () => {
  test("end at half an hour more or less up to a tenth, and open again apart", async () => {
    create(1_000);
    const ends = readMany(1_000);
    await pass(26.9 * minuteMs);
    expect(ends()).toEqual([]);
    await pass(6.2 * minuteMs);
    expect(ends()).toHaveLength(1_000);
    const minutes = ends().map(({ ms }) => ms / minuteMs);
    // 100 are expected in each tenth.
    for (const count of tenths(minutes, 27, 33)) expect(count).toBeGreaterThan(40);
    expect(new Set(ends().map(({ end }) => end))).toEqual(new Set(["TIME_LIMIT"]));
    const delays = ends().map(({ reopenDelayMs }) => reopenDelayMs);
    for (const count of tenths(delays, 100, 1_000)) expect(count).toBeGreaterThan(40);
  });

  test("end within the notice of a drain, and open again apart", async () => {
    create(1_000);
    const ends = readMany(1_000);
    await pass(0);
    unreadCounts.drain(2_000);
    await pass(2_000);
    expect(ends()).toHaveLength(1_000);
    for (const count of tenths(
      ends().map(({ ms }) => ms),
      0,
      2_000,
    )) {
      expect(count).toBeGreaterThan(40);
    }
    expect(new Set(ends().map(({ end }) => end))).toEqual(new Set(["DRAINING"]));
    const delays = ends().map(({ reopenDelayMs }) => reopenDelayMs);
    for (const count of tenths(delays, 1_000, 5_000)) expect(count).toBeGreaterThan(40);
  });
});

test("the more streams a server ends, the longer they take to open again elsewhere", async () => {
  create(5_000);
  const ends = readMany(5_000);
  await pass(0);
  unreadCounts.drain(2_000);
  await pass(2_000);
  const delays = ends().map(({ reopenDelayMs }) => reopenDelayMs);
  // 500 a second, as one other server opens them beside its other calls.
  for (const count of tenths(delays, 1_000, 11_000)) expect(count).toBeGreaterThan(350);
});

describe("a draining server", () => {
  const refused = { reason: "DRAINING", retryable: true };

  test("refuses new streams, and sends changes to the open ones until they end", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const stream = await follow("o");
    unreadCounts.drain(2_000);
    await expect(open(["o"]).next()).rejects.toMatchObject(refused);
    unreadCounts.publish("o", inbox(1));
    await pass(999);
    expect(stream.texts()).toEqual(["o: 0 people at 0", "o: 1 people at 1"]);
    await pass(1);
    expect(stream.events.at(-1)).toEqual({ end: "DRAINING", reopenDelayMs: 3_000 });
    await expect(open(["o"]).next()).rejects.toMatchObject(refused);
  });

  test("ends the remaining streams at once when it closes", async () => {
    const stream = open(["o"]);
    await stream.next();
    unreadCounts.publish("o", inbox(1));
    unreadCounts.drain(2_000);
    unreadCounts.close();
    unreadCounts.publish("o", inbox(2));
    expect(await stream.next()).toBe("ends: DRAINING");
    expect(await stream.next()).toBeUndefined();
    await expect(open(["o"]).next()).rejects.toMatchObject(refused);
  });
});

describe("the limit of streams", () => {
  const refused = { reason: "TOO_MANY_STREAMS", retryable: true };

  test("counts the streams of all owners", async () => {
    create(2);
    const streams = [open(["o"]), open(["o"])];
    for (const stream of streams) await stream.next();
    await expect(open(["p"]).next()).rejects.toMatchObject(refused);
    await streams[0]?.leave();
    expect(await open(["p"]).next()).toBeDefined();
    await expect(open(["o"]).next()).rejects.toMatchObject(refused);
  });

  test("counts each owner of a stream, and reserves all or none", async () => {
    create(6);
    const gateway = await follow("a", "b", "c");
    await expect(open(["a", "b", "c", "d"]).next()).rejects.toMatchObject(refused);
    const other = await follow("d", "e");
    await expect(open(["f", "g"]).next()).rejects.toMatchObject(refused);
    await gateway.leave();
    await expect(open(["f", "g", "h", "i", "j"]).next()).rejects.toMatchObject(refused);
    expect((await follow("f", "g", "h")).events).toHaveLength(3);
    expect(other.events).toHaveLength(2);
  });

  test("has a free place when a client leaves, even if its stream is not read", async () => {
    create(1);
    const leaving = new AbortController();
    await open(["o"], leaving).next();
    leaving.abort();
    expect(await open(["o"]).next()).toBeDefined();
  });

  test("has a free place when a stream could not begin, or has ended", async () => {
    create(1);
    store.failure = new Error("gone");
    await expect(open(["o"]).next()).rejects.toThrow("gone");
    store.failure = undefined;
    const stream = await follow("o");
    await pass(33 * minuteMs);
    expect(stream.texts().at(-1)).toBe("ends: TIME_LIMIT");
    expect(await open(["o"]).next()).toBeDefined();
  });
});

test("closed streams do not keep a process running", async () => {
  vi.useRealTimers();
  const script = `
    import { pino } from "pino";
    import { createUnreadCountStreams } from "./src/feed/runtime/unread-counts.ts";
    const reader = { many: async () => [undefined], inboxes: async () => new Map() };
    const unreadCounts = createUnreadCountStreams({ reader, log: pino(), maxStreams: 9 });
    const call = { service: "tests", signal: new AbortController().signal };
    const streams = ["a", "b"].map((ownerId) =>
      unreadCounts.watch([{ ownerId, knownVersion: 0 }], call),
    );
    for (const stream of streams) await stream.next();
    unreadCounts.drain(600_000);
    unreadCounts.close();
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { cwd: new URL("../../..", import.meta.url) },
  );
  expect(stdout).toBe("");
});
