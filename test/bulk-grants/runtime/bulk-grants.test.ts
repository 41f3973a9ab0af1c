/** Tests bulk grant streams on a store whose bulk grants the test sets, in faked time. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BulkGrantState, RunCounts } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { bulkGrant, createStreams, outcome } from "../../support/fixtures/bulk-grant-streams.ts";
import { fakeTime, minuteMs, pass, tenths } from "../../support/fixtures/unread-count-fixture.ts";

type Fixture = ReturnType<typeof createStreams>;

let store: Fixture["store"];
let streams: Fixture["streams"];
let lines: Fixture["lines"];
let open: Fixture["open"];
let read: Fixture["read"];
let follow: Fixture["follow"];
let readsIn: Fixture["readsIn"];

function create(maxStreams?: number): void {
  ({ store, streams, lines, open, read, follow, readsIn } = createStreams(maxStreams));
}

beforeEach(() => {
  fakeTime();
  create();
});
afterEach(() => {
  streams.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const action = {
  action: "PAUSE",
  revision: 1,
  caller: asService("mei"),
  time: 3,
  reason: "",
} as const;
const result: RunCounts = {
  grantedCount: 7,
  grantedPoints: 70,
  failedCount: 3,
  notRunCount: 0,
  problemCounts: { ACCOUNT_FROZEN: 3 },
};

describe("a stream", () => {
  test("begins with the bulk grant, without progress before its run", async () => {
    store.put(bulkGrant("b", { state: "AWAITING_APPROVAL" }));
    store.outcomes.set("upload-b", [outcome(5)]);
    const { texts } = await follow("b");
    expect(texts).toEqual(["AWAITING_APPROVAL of revision 1: 0 granted (0), 0 failed"]);
  });

  test("adds up the outcomes of all blocks and runs while the bulk grant runs", async () => {
    store.put(bulkGrant("b", { run: 2, result }));
    const blocks = Array.from({ length: 800 }, (_, i) => outcome(2, i % 2, 1 + (i % 3)));
    store.outcomes.set("upload-b", blocks);
    store.outcomes.set("upload-of-another-revision", [outcome(9, 9)]);
    const { texts } = await follow("b");
    expect(texts).toEqual(["RUNNING of revision 1: 1600 granted (16000), 400 failed"]);
  });

  test("gets each change of state and of progress within about a second", async () => {
    store.put(bulkGrant("b", { state: "APPROVED" }));
    const { texts } = await follow("b");
    const latest = async () => {
      await pass(1_100);
      return texts.at(-1);
    };
    store.put(bulkGrant("b"));
    expect(await latest()).toBe("RUNNING of revision 1: 0 granted (0), 0 failed");
    store.outcomes.set("upload-b", [outcome(4, 1)]);
    expect(await latest()).toBe("RUNNING of revision 1: 4 granted (40), 1 failed");
    // A retry replaces a failure by a grant.
    store.outcomes.set("upload-b", [outcome(5)]);
    expect(await latest()).toBe("RUNNING of revision 1: 5 granted (50), 0 failed");
    store.put(bulkGrant("b", { pause: action }));
    expect(await latest()).toBe("RUNNING of revision 1, paused: 5 granted (50), 0 failed");
    expect(texts).toHaveLength(5);
  });

  test("gets nothing while nothing changes", async () => {
    store.put(bulkGrant("b"));
    store.outcomes.set("upload-b", [outcome(4)]);
    const { texts } = await follow("b");
    expect(await readsIn(minuteMs, "b")).toBeGreaterThan(50);
    expect(texts).toHaveLength(1);
  });

  test.each<BulkGrantState>(["INVALID", "REJECTED", "CANCELLED", "DONE", "DONE_WITH_FAILURES"])(
    "ends after the state %s, with the result of the run",
    async (state) => {
      store.put(bulkGrant("b"));
      const early = await follow("b");
      store.put(bulkGrant("b", { state, result }));
      await pass(1_100);
      const last = [`${state} of revision 1: 7 granted (70), 3 failed`, "ends: FINAL"];
      expect(early.texts).toEqual(["RUNNING of revision 1: 0 granted (0), 0 failed", ...last]);
      const late = await follow("b");
      expect(late.texts).toEqual(last);
      expect(await readsIn(minuteMs, "b")).toBe(0);
    },
  );

  test.each<BulkGrantState>(["VALIDATING", "AWAITING_APPROVAL", "APPROVED", "RUNNING"])(
    "goes on in the state %s",
    async (state) => {
      store.put(bulkGrant("b", { state }));
      const { texts } = await follow("b");
      await pass(minuteMs);
      expect(texts).toHaveLength(1);
    },
  );

  test("begins with what is stored when it is opened, not with the last poll", async () => {
    store.put(bulkGrant("b", { state: "AWAITING_APPROVAL" }));
    const first = await follow("b");
    store.put(bulkGrant("b", { state: "APPROVED" }));
    const second = await follow("b");
    expect(second.texts).toEqual(["APPROVED of revision 1: 0 granted (0), 0 failed"]);
    expect(first.texts.slice(1)).toEqual(second.texts);
  });

  test("does not begin with a read that began before it was opened", async () => {
    store.put(bulkGrant("b", { state: "AWAITING_APPROVAL" }));
    const slow = Promise.withResolvers<void>();
    store.delay = slow.promise;
    const first = await follow("b");
    store.put(bulkGrant("b", { state: "APPROVED" }));
    const second = await follow("b");
    store.delay = undefined;
    slow.resolve();
    await pass(0);
    expect(second.texts).toEqual(["APPROVED of revision 1: 0 granted (0), 0 failed"]);
    expect(first.texts).toHaveLength(2);
  });

  test("ends with its signal, also while it waits or has not begun", async () => {
    store.put(bulkGrant("b"));
    const leaving = new AbortController();
    const stream = open("b", leaving);
    await stream.next();
    const waiting = stream.next();
    leaving.abort();
    expect(await waiting).toBeUndefined();
    expect(await open("b", leaving).next()).toBeUndefined();
    store.delay = new Promise(() => {});
    const leavingEarly = new AbortController();
    const beginning = open("b", leavingEarly).next();
    leavingEarly.abort();
    expect(await beginning).toBeUndefined();
    store.delay = undefined;
    expect(await readsIn(minuteMs, "b")).toBe(0);
  });

  test("of an unknown bulk grant is refused", async () => {
    const unknown = { reason: "BULK_GRANT_NOT_FOUND", retryable: false };
    await expect(open("b").next()).rejects.toMatchObject(unknown);
    expect(await readsIn(minuteMs, "b")).toBe(0);
  });
});

describe("polls", () => {
  test("of one bulk grant are shared by all its streams, and end with the last", async () => {
    store.put(bulkGrant("b"));
    store.put(bulkGrant("c"));
    const all = await Promise.all([follow("b"), follow("b"), follow("b"), follow("c")]);
    const reads = await readsIn(10_000, "b");
    expect(reads).toBeGreaterThanOrEqual(9);
    expect(reads).toBeLessThanOrEqual(11);
    for (const stream of all.slice(0, 2)) await stream.leave();
    expect(await readsIn(10_000, "b")).toBeGreaterThanOrEqual(9);
    await all[2]?.leave();
    expect(await readsIn(10_000, "b")).toBe(0);
    expect(await readsIn(10_000, "c")).toBeGreaterThanOrEqual(9);
  });

  test("come about every second, with a jitter, so that servers do not stay in step", async () => {
    store.put(bulkGrant("b"));
    await follow("b");
    await pass(20 * minuteMs);
    const times = store.reads.get("p#b") ?? [];
    const gaps = times.slice(2).map((time, i) => time - (times[i + 1] as number));
    expect(gaps.length).toBeGreaterThan(1_000);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(900);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_101);
    // About 120 are expected in each tenth.
    for (const count of tenths(gaps, 900, 1_100)) expect(count).toBeGreaterThan(40);
  });

  test("of streams that open at the same moment are one read", async () => {
    store.put(bulkGrant("b"));
    const all = Array.from({ length: 5 }, () => read("b"));
    await pass(0);
    for (const { texts } of all) expect(texts).toHaveLength(1);
    expect(store.reads.get("p#b")).toHaveLength(1);
  });

  test("go on through an outage of the store, which is logged once", async () => {
    store.put(bulkGrant("b"));
    const { texts } = await follow("b");
    const err = { type: "TypeError" };
    store.failure = new TypeError("planted-user is no number");
    await pass(10_000);
    store.failure = undefined;
    store.put(bulkGrant("b", { state: "DONE", result }));
    await pass(1_100);
    expect(texts.slice(1)).toEqual(["DONE of revision 1: 7 granted (70), 3 failed", "ends: FINAL"]);
    const name = { programId: "p", bulkGrantId: "b" };
    expect(lines).toMatchObject([
      { level: 40, ...name, err, msg: "the bulk grant cannot be polled" },
      { level: 30, ...name, msg: "the bulk grant is polled again" },
    ]);
    expect(JSON.stringify(lines)).not.toContain("planted-");
  });
});

describe("a draining server", () => {
  const refused = { reason: "DRAINING", retryable: true };

  test("refuses new streams, and sends changes to the open ones until they end", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    store.put(bulkGrant("b"));
    const { texts } = await follow("b");
    streams.drain(4_000);
    await expect(open("b").next()).rejects.toMatchObject(refused);
    store.outcomes.set("upload-b", [outcome(1)]);
    await pass(1_999);
    expect(texts.slice(1)).toEqual(["RUNNING of revision 1: 1 granted (10), 0 failed"]);
    await pass(1);
    expect(texts.slice(2)).toEqual(["ends: DRAINING"]);
    await expect(open("b").next()).rejects.toMatchObject(refused);
  });
});

describe("the limit of streams", () => {
  const refused = { reason: "TOO_MANY_STREAMS", retryable: true };

  test("counts the streams of all bulk grants", async () => {
    create(2);
    store.put(bulkGrant("b"));
    store.put(bulkGrant("c"));
    const all = [open("b"), open("b")];
    for (const stream of all) await stream.next();
    await expect(open("c").next()).rejects.toMatchObject(refused);
    await all[0]?.leave();
    expect(await open("c").next()).toBeDefined();
    await expect(open("b").next()).rejects.toMatchObject(refused);
  });
});
