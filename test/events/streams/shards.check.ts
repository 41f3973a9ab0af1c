/** Tests the reading of streams on a fake of the service: shards, errors, and gaps. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { streamedTables } from "../../../src/events/ports/changes.ts";
import type { FakeStream } from "../../support/streams/fake-stream.ts";
import { startFakeStreams } from "../../support/streams/fake-streams.ts";
import {
  createStreamReader,
  keysOf,
  nothingStored,
  type Stored,
  store,
} from "../../support/streams/stream-reader.ts";

const prefix = "fake-";
const hourMs = 3_600_000;

let fake: Awaited<ReturnType<typeof startFakeStreams>>;
let points: FakeStream;
let first: string;
let time: number;
let reader: ReturnType<typeof createStreamReader>;
let stored: Stored;

beforeEach(async () => {
  fake = await startFakeStreams(
    streamedTables.map((table) => `${prefix}${table}`),
    { shardsOfPage: 2 },
  );
  points = fake.table(`${prefix}points`);
  first = points.shards[0] as string;
  time = Date.now();
  reader = createStreamReader({ endpoint: fake.endpoint, prefix, now: () => time });
  stored = nothingStored();
});

afterEach(async () => {
  reader.close();
  await fake.stop();
});

const write = (stream: FakeStream, shard: string, ...keys: string[]) =>
  keys.map((pk) => stream.write(shard, { keys: { pk: { S: pk } }, after: {}, time }));

/** Reads until all these keys, and no others, were taken. */
const readAll = (...keys: string[]) =>
  reader.readUntil(stored, () => expect(keysOf(stored.changes).sort()).toEqual(keys.sort()));

const gapsOfPoints = () => stored.gaps.filter(({ table }) => table === "points");

const ofPoints = () =>
  Object.entries(stored.positions).filter(([, { table }]) => table === "points");

test("reads what there was before, parents before children, on all pages of shards", async () => {
  write(points, first, "a", "b");
  const [left = "", right = ""] = points.split(first, 2);
  write(points, left, "c");
  write(points, right, "d");
  const [last = ""] = points.split(left, 1);
  write(points, last, "e");
  await readAll("a", "b", "c", "d", "e");
  const keys = keysOf(stored.changes);
  expect(keys.slice(0, 2)).toEqual(["a", "b"]);
  expect(keys.indexOf("c")).toBeLessThan(keys.indexOf("e"));
  expect(stored.gaps).toEqual([]);
  expect(stored.positions[first]).toMatchObject({ table: "points", ended: true });
  expect(stored.positions[last]).not.toHaveProperty("ended");
});

test("follows a split while it reads", async () => {
  write(points, first, "a");
  let children: readonly string[] = [];
  await reader.readUntil(stored, () => {
    const keys = keysOf(stored.changes);
    if (keys.length === 1 && children.length === 0) {
      children = points.split(first, 2);
      for (const child of children) write(points, child, `in ${child}`);
    }
    expect(keys).toHaveLength(3);
  });
  expect(keysOf(stored.changes).slice(1).sort()).toEqual(children.map((id) => `in ${id}`).sort());
});

test("a child waits until its parent was taken, other tables do not", async () => {
  write(points, first, "parent");
  const [child = ""] = points.split(first, 1);
  write(points, child, "child");
  const bulk = fake.table(`${prefix}bulk`);
  write(bulk, bulk.shards[0] as string, "bulk");
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const stop = new AbortController();
  const reading = reader.read(
    {},
    async (taken) => {
      if (taken.kind === "gap") return;
      seen.push(...keysOf(taken.changes));
      if (taken.shard === first) await gate.promise;
    },
    stop.signal,
  );
  await expect.poll(() => [...seen].sort()).toEqual(["bulk", "parent"]);
  const before = fake.requests.length;
  await expect.poll(() => fake.requests.length).toBeGreaterThan(before + 8);
  expect(seen).not.toContain("child");
  gate.resolve();
  await expect.poll(() => seen).toContain("child");
  stop.abort();
  await reading;
});

test("reads pages of at most 1,000 changes, the next one when the last was taken", async () => {
  for (let i = 0; i < 2_500; i++) write(points, first, `${i}`);
  let taking = 0;
  await reader.readUntil(
    stored,
    () => expect(stored.changes).toHaveLength(2_500),
    (...given) => {
      expect(taking).toBe(0);
      taking += 1;
      store(...given);
      taking -= 1;
    },
  );
  const pages = stored.taken.flatMap((taken) => (taken.kind === "changes" ? [taken.changes] : []));
  expect(Math.max(...pages.map(({ length }) => length))).toBe(1_000);
  expect(keysOf(stored.changes)).toEqual(Array.from({ length: 2_500 }, (_, i) => `${i}`));
});

test("tells deletions by the time to live from others", async () => {
  const keys = { pk: { S: "old" } };
  points.write(first, { keys, before: {}, isExpiry: true });
  points.write(first, { keys, before: {} });
  await readAll("old", "old");
  expect(stored.changes.map(({ isExpiry }) => isExpiry)).toEqual([true, false]);
});

test("rejects with what take throws, and reads nothing more", async () => {
  write(points, first, "a");
  const failure = new Error("another process writes");
  const take = async () => {
    throw failure;
  };
  const stop = new AbortController();
  await expect(reader.read({}, take, stop.signal)).rejects.toBe(failure);
  const { length } = fake.requests;
  await new Promise((resolve) => setTimeout(resolve, 600));
  // Each table may have had a request on its way.
  expect(fake.requests.length).toBeLessThanOrEqual(length + streamedTables.length);
});

test("ends at once when the signal aborts, also while the service is silent", async () => {
  fake.fail(({ operation }) => operation === "GetRecords", "SILENT");
  const stop = new AbortController();
  const reading = reader.read({}, async () => {}, stop.signal);
  const asked = () => fake.requests.filter(({ operation }) => operation === "GetRecords").length;
  await expect.poll(asked).toBe(5);
  stop.abort();
  await reading;
  expect(asked()).toBe(5);
});

describe("a quiet shard", () => {
  test("is polled, and its position moves on after a minute", async () => {
    const began = time;
    await reader.readUntil(stored, () => expect(ofPoints()).toHaveLength(1));
    await reader.readUntil(stored, () => {
      time += 20_000;
      expect(stored.positions[first]?.time).toBeGreaterThan(began);
    });
    expect(stored.changes).toEqual([]);
    const { time: until = 0, sequence } = stored.positions[first] ?? {};
    expect(until).toBeLessThanOrEqual(time - 60_000);
    expect(sequence).toBeUndefined();
  });

  test("is not behind, and is so while it cannot be read", async () => {
    const throttled = { status: 400, type: "com.amazon.coral#ThrottlingException" };
    await reader.readUntil(stored, () => expect(reader.behindMs().points).toBe(0));
    fake.fail(({ operation, shard }) => operation === "GetRecords" && shard === first, throttled);
    await reader.readUntil(stored, () => {
      time += 1_000;
      expect(reader.behindMs().points).toBeGreaterThan(5_000);
      expect(reader.behindMs().bulk).toBe(0);
    });
    fake.fail();
    await reader.readUntil(stored, () => expect(reader.behindMs().points).toBe(0));
  });
});

describe("errors of the service", () => {
  test.each([
    { status: 400, type: "com.amazonaws.dynamodb.v20120810#LimitExceededException" },
    { status: 400, type: "com.amazon.coral.availability#ThrottlingException" },
    { status: 500, type: "com.amazonaws.dynamodb.v20120810#InternalServerError" },
    "RESET",
  ] as const)("%j is tried again, and keeps no other shard from being read", async (failure) => {
    const [left = "", right = ""] = points.split(first, 2);
    write(points, left, "left");
    write(points, right, "right");
    const ofLeft = () => fake.requests.filter(({ shard }) => shard === left).length;
    fake.fail(({ shard }) => shard === left, failure);
    await reader.readUntil(stored, () => {
      expect(keysOf(stored.changes)).toEqual(["right"]);
      expect(ofLeft()).toBeGreaterThan(1);
      if (ofLeft() > 2) fake.fail();
    });
    fake.fail();
    await readAll("left", "right");
    expect(stored.gaps).toEqual([]);
  });

  test("an expired iterator is replaced, and nothing is read twice", async () => {
    write(points, first, "a");
    let hasExpired = false;
    await reader.readUntil(stored, () => {
      const keys = keysOf(stored.changes);
      if (keys.length === 1 && !hasExpired) {
        points.expireIterators();
        write(points, first, "b");
        hasExpired = true;
      }
      expect(keys).toEqual(["a", "b"]);
    });
    expect(stored.gaps).toEqual([]);
  });

  test("a table without a stream is behind, and is read when it has one", async () => {
    points.hide(true);
    write(points, first, "a");
    await reader.readUntil(stored, () => {
      time += 1_000;
      expect(reader.behindMs().points).toBeGreaterThan(3_000);
      expect(reader.behindMs().bulk).toBe(0);
    });
    points.hide(false);
    await readAll("a");
    expect(stored.gaps).toEqual([]);
  });

  test("a stream that is switched off is read to its end, then its table is behind", async () => {
    write(points, first, "a");
    points.disable();
    await reader.readUntil(stored, () => {
      expect(keysOf(stored.changes)).toEqual(["a"]);
      time += 1_000;
      expect(reader.behindMs().points).toBeGreaterThan(3_000);
    });
  });
});

describe("a gap", () => {
  test("is not found at the first start, whatever was trimmed", async () => {
    const [a] = write(points, first, "a", "b");
    points.trim(first, a);
    await readAll("b");
    const [child = ""] = points.split(first, 1);
    points.remove(first);
    write(points, child, "c");
    stored = nothingStored();
    await readAll("c");
    expect(stored.gaps).toEqual([]);
  });

  test("begins at the oldest lost position, and all is read that is kept", async () => {
    write(points, first, "a");
    await readAll("a");
    const read = stored.positions[first]?.time ?? 0;
    write(points, first, "lost");
    time += 30 * hourMs;
    const [left = "", right = ""] = points.split(first, 2);
    points.remove(first);
    write(points, left, "b");
    write(points, right, "c");
    await readAll("a", "b", "c");
    const gap = { table: "points", startTime: read - 60_000, endTime: time };
    expect(gapsOfPoints()).toEqual([gap]);
    expect(
      ofPoints()
        .map(([id]) => id)
        .sort(),
    ).toEqual([left, right].sort());
  });

  test("is found where records were trimmed behind a position", async () => {
    write(points, first, "a");
    await readAll("a");
    const [, lost] = write(points, first, "b", "c", "d");
    points.trim(first, lost);
    await readAll("a", "d");
    expect(gapsOfPoints()).toHaveLength(1);
  });

  test("is found where a shard came and went unread", async () => {
    write(points, first, "a");
    const [child = ""] = points.split(first, 1);
    // Only the parent is taken.
    await reader
      .readUntil(
        stored,
        () => expect(ofPoints()).not.toEqual([]),
        (to, taken) => {
          if (taken.kind === "changes" && taken.shard === child) throw new Error("stopped");
          store(to, taken);
        },
      )
      .catch(() => {});
    stored.positions[first] ??= expect.fail("the parent was not taken");
    const [grandchild = ""] = points.split(child, 1);
    points.remove(first);
    points.remove(child);
    write(points, grandchild, "b");
    await readAll("a", "b");
    expect(gapsOfPoints()).toHaveLength(1);
  });

  test("is found where a quiet shard was left alone for longer than records are kept", async () => {
    await reader.readUntil(stored, () => expect(ofPoints()).toHaveLength(1));
    time += 24 * hourMs;
    write(points, first, "a");
    await readAll("a");
    expect(gapsOfPoints()).toHaveLength(1);
  });

  test("is found where a table has another stream", async () => {
    write(points, first, "a");
    await readAll("a");
    const fresh = points.recreate();
    write(points, fresh, "b");
    await readAll("a", "b");
    expect(gapsOfPoints()).toHaveLength(1);
    expect(ofPoints().map(([id]) => id)).toEqual([fresh]);
  });

  test("keeps the positions that are still good", async () => {
    const [left = "", right = ""] = points.split(first, 2);
    write(points, left, "a");
    write(points, right, "b");
    await readAll("a", "b");
    const [, lost] = write(points, left, "c", "d", "e");
    write(points, right, "f");
    points.trim(left, lost);
    await readAll("a", "b", "e", "f");
    expect(gapsOfPoints()).toHaveLength(1);
  });

  test("is closed while no shard of its table is read, and other tables are", async () => {
    write(points, first, "a");
    await readAll("a");
    const [, lost] = write(points, first, "b", "c", "d");
    points.trim(first, lost);
    const bulk = fake.table(`${prefix}bulk`);
    const closing = Promise.withResolvers<void>();
    const stop = new AbortController();
    const reading = reader.read(
      stored.positions,
      async (taken) => {
        store(stored, taken);
        if (taken.kind === "gap") await closing.promise;
      },
      stop.signal,
    );
    await expect.poll(() => stored.gaps).toHaveLength(1);
    write(bulk, bulk.shards[0] as string, "in bulk");
    await expect.poll(() => keysOf(stored.changes)).toEqual(["a", "in bulk"]);
    closing.resolve();
    await expect.poll(() => keysOf(stored.changes)).toEqual(["a", "in bulk", "d"]);
    stop.abort();
    await reading;
  });
});
