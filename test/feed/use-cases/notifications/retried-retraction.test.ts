/** Tests what a retraction answers when it is sent again, or its commit has no answer. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventActorRef, unreadGroupRef } from "../../../../src/feed/ports/records.ts";
import { noTarget } from "../../../../src/feed/rules/event.ts";
import { eventKind } from "../../../../src/feed/rules/kinds.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { retractEvents } from "../../../../src/feed/use-cases/notifications/leave-notification.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const owner = { ownerIds: ["owner"], caller: asService("blog") };

/** An owner with two unread events. */
async function setUp() {
  const { deps, store } = memoryDeps();
  for (const eventId of ["e1", "e2"]) {
    const actor = { userId: eventId, displayName: eventId };
    await notify(deps, { ...owner, eventId, kind: "comment", actor });
  }
  return {
    deps,
    store,
    retract: async () => {
      const answer = retractEvent(deps, { ...owner, eventId: "e1" }).then(
        ([result]) => result?.changed,
        ({ reason }) => reason,
      );
      await vi.advanceTimersByTimeAsync(60_000);
      return answer;
    },
    people: async () => (await inboxOf(deps, "owner")).actorCount,
  };
}

test("a commit without an answer is sent again, and the call says that it changed it", async () => {
  const { store, retract, people } = await setUp();
  store.arriving = ({ op }) => {
    if (op !== "commit") return undefined;
    store.arriving = undefined;
    return "lost after";
  };
  expect(await retract()).toBe(true);
  expect(await people()).toBe(1);
});

test("a call after one that has committed without an answer changes nothing more", async () => {
  const { store, retract, people } = await setUp();
  store.arriving = ({ op }) => (op === "commit" ? "lost after" : undefined);
  expect(await retract()).toBe("STORE_UNAVAILABLE");
  store.arriving = undefined;
  expect(await people()).toBe(1);
  expect(await retract()).toBe(false);
  expect(await people()).toBe(1);
});

test("of two calls at once, one says that it retracted the event", async () => {
  const { retract, people } = await setUp();
  expect((await Promise.all([retract(), retract()])).toSorted()).toEqual([false, true]);
  expect(await people()).toBe(1);
});

test("a call about records that never agree ends as CONTENDED", async () => {
  const { deps, store, retract } = await setUp();
  const events = { ownerId: "owner", target: noTarget, kind: eventKind("comment") };
  store.force(eventActorRef(events, "e1"), undefined);
  expect(await retract()).toBe("CONTENDED");
  const group = await deps.reader.get(unreadGroupRef("owner", noTarget, events.kind));
  if (!group) throw new Error("there is no group");
  const leaver = { ownerId: "owner", userId: "e1" };
  const latest = Number.POSITIVE_INFINITY;
  const leaving = retractEvents(deps, leaver, group.value, latest).catch(({ reason }) => reason);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await leaving).toBe("CONTENDED");
});
