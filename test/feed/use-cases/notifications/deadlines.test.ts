/** Tests that calls about many notifications read nothing more after their caller's deadline. */
import { afterEach, expect, test, vi } from "vitest";
import { blockPerson } from "../../../../src/feed/use-cases/notifications/block-person.ts";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const caller = asService("blog");
const block = { ownerId, userId: "eve" };

/** More lines than three pages of either call, each with one event; only the last one is of Eve. */
const lineCount = 150;

const report = (deps: Deps, eventId: string, userId: string, kind: string, ownerIds = [ownerId]) =>
  notify(deps, { eventId, kind, actor: { userId, displayName: userId }, ownerIds, caller });

async function manyLines() {
  const { deps } = memoryDeps();
  for (let i = 1; i <= lineCount; i++) {
    await report(deps, `e${i}`, i === lineCount ? "eve" : "bob", `kind${i}`);
  }
  return deps;
}

afterEach(() => vi.useRealTimers());

/** Dependencies whose `method` of the reader takes 20 s, and a deadline that is 30 s away. */
function slowReads(deps: Deps, method: "unreadGroups" | "nextEvent" | "get") {
  vi.useFakeTimers({ toFake: ["performance"] });
  const read = deps.reader[method] as (...args: unknown[]) => unknown;
  const slow = vi.fn((...args: unknown[]) => {
    vi.advanceTimersByTime(20_000);
    return read(...args);
  });
  const reader = { ...deps.reader, [method]: slow };
  return { deps: { ...deps, reader }, slow, deadline: performance.now() + 30_000 };
}

test("a block answers before the deadline, and the next call goes on", async () => {
  const real = await manyLines();
  const first = slowReads(real, "unreadGroups");
  // 10 s are left after the first page, and nothing after the second one.
  const limits = { deadline: first.deadline + 10_500 };
  const early = await blockPerson(first.deps, { ...block, ...limits });
  expect(first.slow).toHaveBeenCalledTimes(2);
  expect(early).toMatchObject({ changed: true, inbox: { notificationCount: lineCount } });
  const second = slowReads(real, "unreadGroups");
  const { cursor } = early;
  // The person is on the last page, which is the second one of this call.
  const deadline = second.deadline + 10_500;
  const late = await blockPerson(second.deps, { ...block, cursor, deadline });
  expect(second.slow).toHaveBeenCalledTimes(2);
  expect(late).toMatchObject({ changed: true, inbox: { notificationCount: lineCount - 1 } });
  const rest = await blockPerson(real, { ...block, cursor: late.cursor });
  expect(rest).toMatchObject({ changed: false, cursor: undefined });
});

test("a mark of everything answers before the deadline, and the next call goes on", async () => {
  const real = await manyLines();
  const mark = { ownerId, version: lineCount };
  const first = slowReads(real, "unreadGroups");
  // 10 s are left after the first page, and nothing after the second one.
  const limits = { deadline: first.deadline + 10_500 };
  const early = await markAllNotificationsRead(first.deps, { ...mark, ...limits });
  expect(first.slow).toHaveBeenCalledTimes(2);
  expect(early).toMatchObject({ markedCount: 64, inbox: { notificationCount: lineCount - 64 } });
  const second = slowReads(real, "unreadGroups");
  const { cursor } = early;
  // Of a version before which nothing came in, nothing is marked, and the call ends all the same.
  const { deadline } = second;
  const none = await markAllNotificationsRead(second.deps, { ownerId, version: 0, deadline });
  expect(second.slow).toHaveBeenCalledTimes(2);
  expect(none).toMatchObject({ markedCount: 0, cursor: expect.any(String) });
  expect(await markAllNotificationsRead(real, { ...mark, cursor })).toMatchObject({
    markedCount: lineCount - 64,
    inbox: { notificationCount: 0, actorCount: 0 },
    cursor: undefined,
  });
});

test("a block of a person with many events in one notification ends between two", async () => {
  const { deps: real } = memoryDeps();
  for (const id of ["e1", "e2", "e3", "e4"]) await report(real, id, "eve", "comment");
  const { deps, slow, deadline } = slowReads(real, "nextEvent");
  const limits = { deadline: deadline + 10_500 };
  const early = await blockPerson(deps, { ...block, ...limits });
  expect(slow).toHaveBeenCalledTimes(2);
  expect(early).toMatchObject({ changed: true, inbox: { notificationCount: 1, actorCount: 1 } });
  const { cursor } = early;
  expect(cursor).toBeDefined();
  const { items } = await real.reader.unreadGroups(ownerId, true, { size: 1, cursor: undefined });
  expect(items).toMatchObject([{ memberCount: 3 }]);
  expect(await blockPerson(real, { ...block, cursor })).toMatchObject({
    changed: true,
    inbox: { notificationCount: 0 },
    cursor: undefined,
  });
});

test("a retraction from many owners leaves those that are left to the next call", async () => {
  const { deps: real } = memoryDeps();
  const ownerIds = Array.from({ length: 60 }, (_, i) => `owner${i}`);
  await report(real, "e", "eve", "comment", ownerIds);
  const { deps, slow, deadline } = slowReads(real, "get");
  const event = { eventId: "e", ownerIds, caller };
  await expect(retractEvent(deps, { ...event, deadline })).rejects.toMatchObject({
    reason: "DEADLINE",
  });
  // The owners who were served at the time.
  expect(slow.mock.calls.length).toBeLessThan(60);
  vi.useRealTimers();
  expect(await retractEvent(real, event)).toHaveLength(60);
  for (const each of ownerIds) expect(await inboxOf(real, each)).toMatchObject({ actorCount: 0 });
});
