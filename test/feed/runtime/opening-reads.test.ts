/** Tests how the inboxes of opened streams are read. */
import { expect, test, vi } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import {
  createUnreadCounts,
  inbox,
  pass,
  type UnreadCountFixture,
  useFakedTime,
} from "../../support/fixtures/unread-count-fixture.ts";

let store: UnreadCountFixture["store"];
let unreadCounts: UnreadCountFixture["unreadCounts"];
let open: UnreadCountFixture["open"];
let read: UnreadCountFixture["read"];

useFakedTime(
  () => {
    ({ store, unreadCounts, open, read } = createUnreadCounts(1_000));
  },
  () => unreadCounts,
);

test("streams that open together share requests, of which four are in flight at once", async () => {
  const slow = Promise.withResolvers<void>();
  store.delay = slow.promise;
  const ownerIds = Array.from({ length: 900 }, (_, i) => `o${i}`);
  for (const ownerId of ownerIds) store.inboxes.set(ownerId, inbox(7));
  const streams = ownerIds.map((ownerId) => read(ownerId));
  await pass(0);
  expect(store.reads.map(({ length }) => length)).toEqual([100, 100, 100, 100]);
  slow.resolve();
  await pass(0);
  expect(store.reads.map(({ length }) => length)).toEqual(Array(9).fill(100));
  for (const { events } of streams) expect(events).toHaveLength(1);
});

test("streams that open while requests are in flight share the next ones", async () => {
  const slow = Promise.withResolvers<void>();
  store.delay = slow.promise;
  for (let i = 0; i < 200; i++) {
    read(`o${i % 100}`);
    await Promise.resolve();
  }
  await pass(0);
  slow.resolve();
  await pass(0);
  expect(store.reads.length).toBeLessThanOrEqual(6);
});

test("an owner of many streams is read once, and then not as long as one is open", async () => {
  const streams = Array.from({ length: 50 }, () => read("o"));
  await pass(0);
  expect(store.reads).toEqual([["o"]]);
  for (let i = 0; i < 50; i++) streams.push(read("o"));
  await pass(0);
  expect(store.reads).toEqual([["o"]]);
  for (const { texts, leave } of streams) {
    expect(texts()).toEqual(["o: 0 people at 0"]);
    await leave();
  }
  read("o");
  await pass(0);
  expect(store.reads).toEqual([["o"], ["o"]]);
});

test("a throttled owner fails alone", async () => {
  store.throttled.add("o3");
  const opened = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => open([`o${i}`]).next()),
  );
  const failed = opened.flatMap((result, i) => (result.status === "rejected" ? [i] : []));
  expect(failed).toEqual([3]);
  expect(opened[3]).toMatchObject({ reason: { reason: "THROTTLED", retryable: true } });
  expect(store.reads.map(({ length }) => length)).toEqual([50, ...Array(50).fill(1)]);
});

test("a store that throttles all owners gets few requests", async () => {
  for (let i = 0; i < 100; i++) store.throttled.add(`o${i}`);
  const opened = await Promise.allSettled(
    Array.from({ length: 100 }, (_, i) => open([`o${i}`]).next()),
  );
  for (const result of opened) expect(result).toMatchObject({ reason: { reason: "THROTTLED" } });
  expect(store.reads.length).toBeLessThanOrEqual(10);
});

test("a store that is away gets no more requests than batches", async () => {
  store.failure = new DomainError("STORE_UNAVAILABLE", "no answer");
  const opened = await Promise.allSettled(
    Array.from({ length: 250 }, (_, i) => open([`o${i}`]).next()),
  );
  for (const result of opened) expect(result).toMatchObject({ reason: store.failure });
  expect(store.reads).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});
