/**
 * Tests that counts of events are exact while two processes report them, take them back and mark
 * them as read, and transactions are applied item by item.
 */
import { expect, test } from "vitest";
import { unreadGroupRef } from "../../../src/feed/ports/records.ts";
import { type Event, noTarget } from "../../../src/feed/rules/event.ts";
import { type Group, versionOf } from "../../../src/feed/rules/unread-group.ts";
import { markNotificationRead } from "../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../src/feed/use-cases/notifications/retract.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { beforeItemOf } from "../../support/fixtures/account-fixture.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const ownerId = "owner";
const name = { ownerId, target: noTarget, kind: "~comment" } as const;
const caller = asService("blog");

/** Sends a call again while its error is retryable, as clients do. */
async function untilDone<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
    }
  }
}

/** Numbers without a pattern, the same in every run. */
function createNumbers(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/** Everything that is counted of a group, by its own record and by the events in its range. */
const countsOf = (group: Group, events: readonly Event[]) => {
  const members = events.filter(
    ({ version }) => version >= group.generation && version <= versionOf(group),
  );
  const shown = ({ version, userId }: { version: number; userId: string }) =>
    `${userId} ${version}`;
  return {
    stored: [
      group.memberCount,
      group.actorCount,
      group.firstMembers.map(shown),
      group.latestMembers.map(shown),
    ],
    found: [
      members.length,
      new Set(members.map(({ userId }) => userId)).size,
      members.slice(0, 2).map(shown),
      members.toReversed().slice(0, 3).map(shown),
    ],
  };
};

async function expectExact(deps: Deps): Promise<void> {
  const versions = { from: 1, to: Number.MAX_SAFE_INTEGER };
  const newest = await allItems((page) => deps.reader.events(name, versions, page));
  const events = newest.toReversed();
  const group = (await deps.reader.get(unreadGroupRef(ownerId, name.target, name.kind)))?.value;
  const history = await allItems((page) => deps.reader.readGroups(ownerId, 0, page));
  for (const each of [...history, ...(group ? [group] : [])]) {
    const { stored, found } = countsOf(each, events);
    expect(stored).toEqual(found);
  }
  const inbox = await inboxOf(deps, ownerId);
  expect(inbox).toMatchObject({
    notificationCount: group ? 1 : 0,
    actorCount: group?.actorCount ?? 0,
  });
  const inGroups = [...history, ...(group ? [group] : [])].map(({ memberCount }) => memberCount);
  expect(inGroups.reduce((sum, count) => sum + count, 0)).toBe(events.length);
}

test.each([1, 2])("counts, people and names are exact in any order of calls (%i)", async (seed) => {
  const { deps, store, clock, process } = memoryDeps();
  const processes = [deps, process()];
  const below = createNumbers(seed);
  let reported = 0;
  for (let round = 0; round < 8; round++) {
    store.beforeItem = beforeItemOf("item by item");
    // Sometimes all of the group is older than a second, so that any query finds it.
    clock.time += below(3) === 0 ? 2_000 : 10;
    const { version } = await inboxOf(deps, ownerId);
    const calls = Array.from({ length: 10 }, () => {
      const from = processes[below(2)] as Deps;
      const kind = below(10);
      if (kind < 6 || reported < 8) {
        const eventId = `e${++reported}`;
        const actor = { userId: `u${below(4)}`, displayName: "" };
        return () => notify(from, { eventId, kind: "comment", actor, ownerIds: [ownerId], caller });
      }
      const eventId = `e${1 + below(reported)}`;
      if (kind < 9) return () => retractEvent(from, { eventId, ownerIds: [ownerId], caller });
      const upTo = Math.max(1, version - below(6));
      return () => markNotificationRead(from, { ...name, version: upTo });
    });
    // Time goes on faster than the processes work, so that all is applied after some of them.
    const ticks = setInterval(() => (clock.time += 40), 4);
    const settled = await Promise.allSettled(calls.map((call) => untilDone<unknown>(call)));
    clearInterval(ticks);
    for (const each of settled) {
      // An event that is reported by the same round may not be there yet.
      if (each.status === "rejected") expect(each.reason.reason).toBe("EVENT_NOT_FOUND");
    }
    store.beforeItem = undefined;
    await expectExact(deps);
  }
});
