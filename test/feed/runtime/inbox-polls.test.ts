/** Tests how often inboxes are polled while their owners have unread count streams. */
import { describe, expect, test, vi } from "vitest";
import {
  createUnreadCounts,
  inbox,
  minuteMs,
  pass,
  type UnreadCountFixture,
  useFakedTime,
} from "../../support/fixtures/unread-count-fixture.ts";

let store: UnreadCountFixture["store"];
let unreadCounts: UnreadCountFixture["unreadCounts"];
let lines: UnreadCountFixture["lines"];
let read: UnreadCountFixture["read"];
let follow: UnreadCountFixture["follow"];
let pollsIn: UnreadCountFixture["pollsIn"];

function create(maxStreams?: number): void {
  ({ store, unreadCounts, lines, read, follow, pollsIn } = createUnreadCounts(maxStreams));
}

useFakedTime(create, () => unreadCounts);

describe("polls", () => {
  test("read each owner once, up to a hundred in a request", async () => {
    // Without a jitter, what was opened together is due together.
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    create(1_000);
    const ownerIds = Array.from({ length: 250 }, (_, i) => `o${i}`);
    for (const ownerId of [...ownerIds, ...ownerIds]) read(ownerId);
    await pass(0);
    expect(await pollsIn(1_000)).toBe(250);
    expect(store.polls.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(new Set(store.polls.flat())).toEqual(new Set(ownerIds));
  });

  test("of an active owner come about once a second, of a quiet one about every 5 s", async () => {
    await follow("o");
    const first = await pollsIn(10_000);
    expect(first).toBeGreaterThanOrEqual(8);
    expect(first).toBeLessThanOrEqual(12);
    // The owner becomes quiet little by little.
    const next = await pollsIn(20_000);
    expect(next).toBeGreaterThanOrEqual(8);
    expect(next).toBeLessThanOrEqual(13);
    await pass(30_000);
    for (let minute = 0; minute < 20; minute++) {
      const polls = await pollsIn(minuteMs);
      expect(polls).toBeGreaterThanOrEqual(11);
      expect(polls).toBeLessThanOrEqual(13);
    }
  });

  test.each([
    ["a commit of this process", () => unreadCounts.publish("o", inbox(1))],
    // The poll that finds the change comes within 5.3 s.
    ["a commit of another process", () => void store.inboxes.set("o", inbox(1))],
    ["another stream", () => void read("o")],
  ])("become frequent again after %s", async (_, happen) => {
    await follow("o");
    await pass(2 * minuteMs);
    expect(await pollsIn(15_000)).toBeLessThanOrEqual(4);
    happen();
    expect(await pollsIn(5_300)).toBeGreaterThanOrEqual(1);
    expect(await pollsIn(5_000)).toBeGreaterThanOrEqual(4);
  });

  test("of owners whose streams come back with the present version are rare", async () => {
    store.inboxes.set("o", inbox(7));
    read(["o", 7]);
    await pass(0);
    const known = await pollsIn(minuteMs);
    expect(known).toBeGreaterThanOrEqual(11);
    expect(known).toBeLessThanOrEqual(14);
    store.inboxes.set("o", inbox(8));
    await pass(5_300);
    expect(await pollsIn(5_000)).toBeGreaterThanOrEqual(4);
  });

  test("and opening reads of a quiet owner take up to 400 read units an hour", async () => {
    create(100);
    const leaving = new AbortController();
    const keepOpen = async (ownerId: string) => {
      let knownVersion = 0;
      const call = { service: "tests", signal: leaving.signal };
      while (!leaving.signal.aborted) {
        const owners = [{ ownerId, knownVersion }];
        for await (const event of unreadCounts.watch(owners, call)) {
          if ("version" in event) knownVersion = event.version;
          else await new Promise((resolve) => setTimeout(resolve, event.reopenDelayMs));
        }
      }
    };
    for (let i = 0; i < 20; i++) {
      store.inboxes.set(`o${i}`, inbox(7));
      void keepOpen(`o${i}`);
    }
    const hours = 3;
    const polls = await pollsIn(hours * 60 * minuteMs);
    const reads = store.reads.flat().length;
    const units = (polls * 0.5 + reads * 1) / 20 / hours;
    expect(reads).toBeGreaterThan(20 * 5);
    expect(units).toBeLessThanOrEqual(400);
    leaving.abort();
    unreadCounts.close();
    await pass(1_000);
  });

  test("stop while no stream is open", async () => {
    for (let round = 0; round < 3; round++) {
      const streams = [await follow("o"), await follow("p")];
      expect(await pollsIn(5_000)).toBeGreaterThan(2);
      for (const { leave } of streams) await leave();
      expect(vi.getTimerCount()).toBe(0);
    }
    await follow("o");
    unreadCounts.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("of a throttled owner do not hold up the others", async () => {
    const streams = await Promise.all(["a", "b", "c"].map((ownerId) => follow(ownerId)));
    store.throttled.add("b");
    for (const ownerId of ["a", "b", "c"]) store.inboxes.set(ownerId, inbox(1));
    await pass(1_500);
    const latest = () => streams.map(({ texts }) => texts().at(-1));
    expect(latest()).toEqual(["a: 1 people at 1", "b: 0 people at 0", "c: 1 people at 1"]);
    expect(lines).toMatchObject([{ level: 40, err: { type: "THROTTLED" } }]);
    store.throttled.clear();
    await pass(1_500);
    expect(latest()[1]).toBe("b: 1 people at 1");
  });

  test("of owners who are all throttled are few", async () => {
    // Without a jitter, what was opened together is due together.
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    create(100);
    const ownerIds = Array.from({ length: 100 }, (_, i) => `o${i}`);
    for (const ownerId of ownerIds) read(ownerId);
    await pass(0);
    for (const ownerId of ownerIds) store.throttled.add(ownerId);
    await pass(1_000);
    expect(store.polls.map(({ length }) => length)).toEqual([100, 1, 1, 1]);
  });

  test("that fail are logged once, and the streams stay open", async () => {
    const stream = await follow("o");
    await pass(2 * minuteMs);
    store.failure = new TypeError("planted-user is no number");
    // A poll that has failed is sent again after about a second, even for a quiet owner.
    await pass(6_000);
    expect(await pollsIn(5_000)).toBeGreaterThanOrEqual(4);
    expect(lines).toMatchObject([{ level: 40, err: { type: "TypeError" } }]);
    expect(JSON.stringify(lines)).not.toContain("planted-");
    store.failure = undefined;
    store.inboxes.set("o", inbox(1));
    await pass(1_500);
    expect(stream.texts().at(-1)).toBe("o: 1 people at 1");
    await pass(minuteMs);
    expect(lines).toMatchObject([{ level: 40 }, { level: 30 }]);
  });
});
