/** Tests streams of unread counts with announcements, which may be lost, late, doubled or false. */
import { describe, expect, test, vi } from "vitest";
import {
  createUnreadCounts,
  inbox,
  minuteMs,
  pass,
  type UnreadCountFixture,
  useFakedTime,
} from "../../support/fixtures/unread-count-fixture.ts";

let fixture: UnreadCountFixture;

function create(maxStreams?: number): void {
  fixture = createUnreadCounts(maxStreams, true);
}

useFakedTime(create, () => fixture.unreadCounts);

/** Opens a stream of each owner, and lets the polls catch up with the announcements. */
async function followAnnounced(...ownerIds: string[]) {
  const streams = ownerIds.map((ownerId) => fixture.read(ownerId));
  await pass(0);
  fixture.channel.confirm();
  await pass(3_000);
  return streams;
}

const readCount = () => fixture.store.reads.flat().length;

describe("an announced commit", () => {
  test("is read and sent at once, and the owner is polled once a minute", async () => {
    const [stream] = await followAnnounced("o");
    expect(await fixture.pollsIn(10 * minuteMs)).toBeLessThanOrEqual(11);
    fixture.store.inboxes.set("o", inbox(1));
    fixture.channel.send("o", 1);
    await pass(0);
    expect(stream?.texts().at(-1)).toBe("o: 1 people at 1");
    expect(await fixture.pollsIn(10 * minuteMs)).toBeLessThanOrEqual(11);
  });

  test("that is lost is found within about a minute", async () => {
    const [stream] = await followAnnounced("o");
    fixture.store.inboxes.set("o", inbox(1));
    await pass(1.1 * minuteMs);
    expect(stream?.texts().at(-1)).toBe("o: 1 people at 1");
  });

  test("costs no read when it is known: doubled, late, out of order, its own", async () => {
    const [stream] = await followAnnounced("o");
    fixture.store.inboxes.set("o", inbox(3));
    for (const version of [3, 1, 3, 2]) fixture.channel.send("o", version);
    await pass(0);
    const before = readCount();
    for (const version of [3, 1, 2, 0]) fixture.channel.send("o", version);
    fixture.unreadCounts.publish("o", inbox(4));
    fixture.channel.send("o", 4);
    await pass(1_000);
    expect(readCount()).toBe(before);
    expect(stream?.texts()).toEqual(["o: 0 people at 0", "o: 3 people at 3", "o: 4 people at 4"]);
    expect(fixture.channel.announced).toEqual(["o: 4"]);
  });

  test("of what nobody sees costs other processes no read", async () => {
    fixture.store.inboxes.set("o", inbox(3));
    const [stream] = await followAnnounced("o");
    const before = readCount();
    fixture.store.inboxes.set("o", inbox(4, 3, 3));
    fixture.channel.send("o", 3);
    await pass(100);
    expect(readCount()).toBe(before);
    fixture.store.inboxes.set("o", inbox(6, 4, 5));
    fixture.channel.send("o", 5);
    await pass(100);
    expect(readCount()).toBe(before + 1);
    expect(stream?.texts()).toEqual(["o: 3 people at 3", "o: 4 people at 6"]);
    fixture.unreadCounts.publish("o", inbox(7, 4, 5));
    expect(fixture.channel.announced).toEqual(["o: 5"]);
  });

  test("that comes before the commit can be seen by polls is found", async () => {
    const [stream] = await followAnnounced("o");
    fixture.store.lagging = new Map();
    fixture.store.inboxes.set("o", inbox(1));
    fixture.channel.send("o", 1);
    await pass(0);
    expect(stream?.texts().at(-1)).toBe("o: 1 people at 1");
  });

  test("before the subscription was confirmed is found by the polls that go on", async () => {
    const stream = await fixture.follow("o");
    fixture.store.inboxes.set("o", inbox(1));
    fixture.channel.confirm();
    await pass(3_000);
    expect(stream.texts().at(-1)).toBe("o: 1 people at 1");
  });

  test("is found by polls when its read fails", async () => {
    const [stream] = await followAnnounced("o");
    fixture.store.inboxes.set("o", inbox(1));
    fixture.store.throttled.add("o");
    fixture.channel.send("o", 1);
    await pass(200);
    fixture.store.throttled.clear();
    fixture.store.lagging = new Map();
    await pass(700);
    fixture.store.lagging = undefined;
    await pass(3_000);
    expect(stream?.texts().at(-1)).toBe("o: 1 people at 1");
    expect(await fixture.pollsIn(10 * minuteMs)).toBeLessThanOrEqual(11);
  });
});

describe("the slow read of an announced owner", () => {
  /** Commits and announces changes of both owners, until the other one has gone on. */
  async function announceBoth(from: number, to: number) {
    for (let version = from; version <= to; version++) {
      for (const ownerId of ["slow", "o"]) {
        fixture.store.inboxes.set(ownerId, inbox(version));
        fixture.channel.send(ownerId, version);
      }
      await pass(60);
    }
  }

  test("delays no other owner, and is not repeated before it ends", async () => {
    const [slow, other] = await followAnnounced("slow", "o");
    const read = Promise.withResolvers<void>();
    fixture.store.delay = read.promise;
    fixture.store.inboxes.set("slow", inbox(1));
    fixture.channel.send("slow", 1);
    await pass(1);
    fixture.store.delay = undefined;
    const before = readCount();
    await announceBoth(2, 5);
    expect(readCount() - before).toBe(4);
    expect(other?.texts().at(-1)).toBe("o: 5 people at 5");
    expect(slow?.texts()).toEqual(["slow: 0 people at 0"]);
    read.resolve();
    await pass(60);
    expect(slow?.texts().at(-1)).toBe("slow: 5 people at 5");
  });

  test("that fails leaves the owner to polls, until one succeeds", async () => {
    const [slow, other] = await followAnnounced("slow", "o");
    fixture.store.throttled.add("slow");
    await announceBoth(1, 8);
    expect(other?.texts().at(-1)).toBe("o: 8 people at 8");
    // The first read together with the other owner, then each alone.
    expect(fixture.store.reads.flat().filter((ownerId) => ownerId === "slow")).toHaveLength(3);
    fixture.store.throttled.clear();
    await pass(1_500);
    expect(slow?.texts().at(-1)).toBe("slow: 8 people at 8");
    const before = readCount();
    await announceBoth(9, 9);
    expect(readCount() - before).toBe(2);
    expect(slow?.texts().at(-1)).toBe("slow: 9 people at 9");
    expect(await fixture.pollsIn(10 * minuteMs)).toBeLessThanOrEqual(2 * 11);
  });

  test("hides no change that is announced while the polls lag behind", async () => {
    const [slow] = await followAnnounced("slow");
    fixture.store.throttled.add("slow");
    fixture.channel.send("slow", 1);
    await pass(800);
    fixture.store.inboxes.set("slow", inbox(2));
    fixture.store.lagging = new Map();
    fixture.channel.send("slow", 2);
    fixture.store.throttled.clear();
    // The next poll succeeds, and does not find it.
    await pass(500);
    expect(slow?.texts()).toEqual(["slow: 0 people at 0"]);
    fixture.store.lagging = undefined;
    await pass(5_000);
    expect(slow?.texts().at(-1)).toBe("slow: 2 people at 2");
  });
});

describe("announcements", () => {
  test("of many commits of an owner are read 20 times a second", async () => {
    const [stream] = await followAnnounced("o");
    const before = readCount();
    for (let version = 1; version <= 500; version++) {
      fixture.store.inboxes.set("o", inbox(version));
      fixture.channel.send("o", version);
      await pass(2);
    }
    await pass(50);
    expect(readCount() - before).toBeLessThanOrEqual(21);
    expect(stream?.texts().at(-1)).toBe("o: 500 people at 500");
  });

  test("that are false change nothing, and are read as rarely", async () => {
    create(2_000);
    const ownerIds = Array.from({ length: 1_000 }, (_, i) => `o${i}`);
    await followAnnounced(...ownerIds);
    const before = readCount();
    for (let round = 0; round < 100; round++) {
      for (const ownerId of [...ownerIds, "stranger"]) {
        fixture.channel.send(ownerId, 10 ** 15 - 1 - round);
      }
      await pass(10);
    }
    expect(readCount() - before).toBeLessThanOrEqual(5_250);
    await pass(1_000);
    // Who is named falsely gets the true commits after it.
    const stream = await fixture.follow(["o7", 0]);
    fixture.store.inboxes.set("o7", inbox(1));
    fixture.channel.send("o7", 1);
    await pass(50);
    expect(stream.texts()).toEqual(["o7: 0 people at 0", "o7: 1 people at 1"]);
  });

  test("are wanted of the owners with a stream", async () => {
    const streams = [await fixture.follow("a", "b"), await fixture.follow("b")];
    expect([...fixture.channel.wanted]).toEqual(["a", "b"]);
    await streams[0]?.leave();
    expect([...fixture.channel.wanted]).toEqual(["b"]);
    await streams[1]?.leave();
    expect([...fixture.channel.wanted]).toEqual([]);
    fixture.channel.confirm();
    fixture.channel.lose();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("are made of commits of owners whom nobody watches here", () => {
    fixture.unreadCounts.publish("o", inbox(5));
    expect(fixture.channel.announced).toEqual(["o: 5"]);
  });
});

describe("a broken channel", () => {
  test("leaves polls as they are without one, which find what was lost, spread", async () => {
    create(1_000);
    const ownerIds = Array.from({ length: 500 }, (_, i) => `o${i}`);
    const streams = await followAnnounced(...ownerIds);
    await pass(2.5 * minuteMs);
    for (const ownerId of ownerIds) fixture.store.inboxes.set(ownerId, inbox(1));
    fixture.channel.lose();
    expect(await fixture.pollsIn(1_000)).toBeLessThan(250);
    await pass(5_000);
    for (const { texts } of streams) expect(texts().at(-1)).toContain("1 people at 1");
    await pass(minuteMs);
    const quiet = await fixture.pollsIn(minuteMs);
    expect(quiet / 500).toBeGreaterThanOrEqual(11);
  });

  test("that is back is relied on after all owners were read once, paced", async () => {
    create(1_000);
    const ownerIds = Array.from({ length: 500 }, (_, i) => `o${i}`);
    const streams = await followAnnounced(...ownerIds);
    await pass(2 * minuteMs);
    fixture.channel.lose();
    await pass(minuteMs);
    const before = readCount();
    for (const ownerId of ownerIds) fixture.store.inboxes.set(ownerId, inbox(2));
    fixture.channel.confirm();
    expect(await fixture.pollsIn(1_000)).toBeLessThan(300);
    await pass(10_000);
    for (const { texts } of streams) expect(texts().at(-1)).toContain("2 people at 2");
    expect(readCount()).toBe(before);
    expect((await fixture.pollsIn(10 * minuteMs)) / 500).toBeLessThanOrEqual(11);
  });

  test("that is lost again before it was relied on changes nothing", async () => {
    const stream = await fixture.follow("o");
    for (let i = 0; i < 10; i++) {
      fixture.channel.confirm();
      await pass(500);
      fixture.channel.lose();
    }
    fixture.store.inboxes.set("o", inbox(1));
    await pass(1_500);
    expect(stream.texts().at(-1)).toBe("o: 1 people at 1");
  });
});

test("a quiet owner takes up to 40 read units an hour", async () => {
  create(100);
  const leaving = new AbortController();
  const keepOpen = async (ownerId: string) => {
    let knownVersion = 0;
    const call = { service: "tests", signal: leaving.signal };
    while (!leaving.signal.aborted) {
      const owners = [{ ownerId, knownVersion }];
      for await (const event of fixture.unreadCounts.watch(owners, call)) {
        if ("version" in event) knownVersion = event.version;
        else await new Promise((resolve) => setTimeout(resolve, event.reopenDelayMs));
      }
    }
  };
  const confirming = setInterval(fixture.channel.confirm, 100);
  for (let i = 0; i < 20; i++) {
    fixture.store.inboxes.set(`o${i}`, inbox(7));
    void keepOpen(`o${i}`);
  }
  const hours = 3;
  const polls = await fixture.pollsIn(hours * 60 * minuteMs);
  const units = (polls * 0.5 + readCount()) / 20 / hours;
  expect(units).toBeGreaterThan(29);
  expect(units).toBeLessThanOrEqual(40);
  leaving.abort();
  clearInterval(confirming);
  fixture.unreadCounts.close();
  await pass(1_000);
});
