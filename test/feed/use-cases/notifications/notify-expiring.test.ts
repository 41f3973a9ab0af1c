/** Tests which members are notified of points that expire soon, once each, in spite of failures. */
import { beforeEach, expect, test, vi } from "vitest";
import { notifyMember } from "../../../../src/feed/use-cases/notifications/notify.ts";
import {
  type NotifyProgress,
  notifyExpiringInShard,
  readAnnouncedMonth,
} from "../../../../src/feed/use-cases/notifications/notify-expiring.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { DomainError } from "../../../../src/platform/words/errors.ts";
import { parseMonth } from "../../../../src/platform/words/month.ts";
import { shardCount } from "../../../../src/points/ports/points.ts";
import { programRef } from "../../../../src/points/ports/records.ts";
import {
  createAccountFixture,
  grant,
  programId,
  use,
} from "../../../support/fixtures/account-fixture.ts";

vi.mock(import("../../../../src/feed/use-cases/notifications/notify.ts"), { spy: true });
const notify = vi.mocked(notifyMember);
beforeEach(() => void notify.mockReset());

/** The 25th of January 2026; points of this month expire with it in a program of one month. */
const announced = Date.UTC(2026, 0, 25, 3);
const month = parseMonth("2026-02");

function noticesFixture(expiryDays = 7) {
  const fixture = createAccountFixture(1);
  const { store, clock } = fixture;
  store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 1, effectiveTime: 0 }],
    createTime: 0,
    notices: { expiryDays, reservedGrants: false },
  });
  clock.time = announced;
  return fixture;
}

const nothing = { notified: 0, unaffected: 0, failed: 0, failures: [] };

/** Goes through all shards, and adds up the counts. */
async function notifyAll(
  deps: Deps,
  onFailed: (userId: string, error: unknown) => void = () => {},
) {
  let total: NotifyProgress = nothing;
  for (let shard = 0; shard < shardCount; shard++) {
    const input = { programId, month, ...total, shard };
    total = await notifyExpiringInShard(deps, input, () => true, onFailed);
  }
  return total;
}

/** What a member's only notification displays. */
async function labelOf(deps: Deps, userId: string): Promise<string | undefined> {
  const page = { size: 2, cursor: undefined };
  const { items } = await listNotifications(
    deps,
    { ownerId: userId, state: "ALL", kinds: [] },
    page,
  );
  expect(items).toHaveLength(1);
  return items[0]?.latestMembers[0]?.displayName;
}

/** The users, event ids and labels of the notices so far, in the order of the users. */
const notices = () =>
  notify.mock.calls
    .map(([, { userId, kind, eventId, label }]) => `${userId} ${kind} ${eventId} ${label}`)
    .toSorted();

test("each member with points that expire is notified, and nobody else", async () => {
  const { deps, clock } = noticesFixture();
  await grant(deps, "g", 10, { userId: "aoi" });
  await grant(deps, "g", 1_234, { userId: "ben" });
  await use(deps, "u", 234, { userId: "ben" });
  await grant(deps, "g", 10, { userId: "spent" });
  await use(deps, "u", 10, { userId: "spent" });
  expect(await readAnnouncedMonth(deps, programId)).toBe(month);
  const paceSweep = vi.fn(deps.paceSweep);
  const found = await notifyAll({ ...deps, paceSweep });
  expect(found).toEqual({ ...nothing, notified: 2, unaffected: 1 });
  expect(paceSweep).toHaveBeenCalledTimes(2);
  expect(notices()).toEqual([
    "aoi points-expiring x.p.2026-02 10",
    "ben points-expiring x.p.2026-02 1000",
  ]);

  // Another run finds who was notified, also when the points are others since.
  await use(deps, "u2", 100, { userId: "ben" });
  expect(await notifyAll(deps)).toEqual({ ...nothing, notified: 2, unaffected: 1 });
  expect(await labelOf(deps, "ben")).toBe("1000");

  // A run that goes on after the boundary notifies nobody of the next one.
  clock.time = Date.UTC(2026, 1, 1);
  notify.mockClear();
  await grant(deps, "feb", 10, { userId: "aoi" });
  expect(await notifyAll(deps)).toMatchObject({ notified: 0 });
  expect(notify).not.toHaveBeenCalled();
});

test("accounts whose points live longer are not found by the index", async () => {
  const { deps, store } = noticesFixture();
  store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 3, effectiveTime: 0 }],
    createTime: 0,
    notices: { expiryDays: 7, reservedGrants: false },
  });
  await grant(deps, "g", 10, { userId: "young" });
  expect(await notifyAll(deps)).toEqual(nothing);
});

test("no month is announced too early, or without notices", async () => {
  const early = noticesFixture();
  early.clock.time = Date.UTC(2026, 0, 15);
  expect(await readAnnouncedMonth(early.deps, programId)).toBeUndefined();
  expect(await readAnnouncedMonth(noticesFixture(0).deps, programId)).toBeUndefined();
  await expect(readAnnouncedMonth(early.deps, "unknown")).rejects.toMatchObject({
    reason: "PROGRAM_NOT_FOUND",
  });
});

test("an outage ends the sweep, and the next attempt goes on where it was", async () => {
  const { deps } = noticesFixture();
  const userIds = Array.from({ length: 10 * shardCount }, (_, i) => `user-${i}`);
  for (const userId of userIds) await grant(deps, "g", 10, { userId });
  const shard = 0;
  let answered = 0;
  notify.mockImplementation(async () => {
    answered += 1;
    if (answered >= 4) throw new DomainError("STORE_UNAVAILABLE", "away");
  });
  let latest: Partial<NotifyProgress> = {};
  const proceed = (progress: NotifyProgress) => {
    latest = JSON.parse(JSON.stringify(progress));
    return true;
  };
  const input = { programId, month, shard };
  const away = notifyExpiringInShard(deps, input, proceed, () => {});
  await expect(away).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  notify.mockReset();
  const result = await notifyExpiringInShard(deps, { ...input, ...latest }, proceed, () => {});
  expect(latest.failed).toBe(0);
  expect(result.notified).toBeGreaterThan(4);
  expect(notify.mock.calls.length).toBeLessThan(result.notified);
});
