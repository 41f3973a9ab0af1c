/** Tests that owners who are served by one call do not wait for each other, whatever fails. */
import { expect, test } from "vitest";
import { inboxRef } from "../../../../src/feed/ports/records.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { forEachOwner } from "../../../../src/feed/use-cases/notifications/many-owners.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import {
  registerTarget,
  setTargetMuted,
} from "../../../../src/feed/use-cases/reactions/targets.ts";
import type { Engine } from "../../../../src/platform/ports/engine.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { DomainError } from "../../../../src/platform/words/errors.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerIds = ["ann", "ben", "cho"];
const caller = asService("blog");
const event = { eventId: "m1", ownerIds, caller };
const mention = { ...event, kind: "mention", actor: { userId: "eve", displayName: "Eve" } };
const throttled = new DomainError("THROTTLED", "the store throttles this owner");

/** The same engine, except that each transaction of one owner fails. */
const withoutOwner = (engine: Engine, ownerId: string): Engine => ({
  async transact(request) {
    if (request.key.id === inboxRef(ownerId).id) throw throttled;
    return engine.transact(request);
  },
});

test("the others are notified, the error is thrown, and the same call does the rest", async () => {
  const { deps } = memoryDeps();
  const counts = () =>
    Promise.all(ownerIds.map(async (id) => (await inboxOf(deps, id)).notificationCount));
  const notAnn = { ...deps, engine: withoutOwner(deps.engine, "ann") };
  await expect(notify(notAnn, mention)).rejects.toBe(throttled);
  expect(await counts()).toEqual([0, 1, 1]);
  expect(await notify(deps, mention)).toMatchObject([
    { ownerId: "ann", notified: true, replayed: false },
    { ownerId: "ben", notified: true, replayed: true },
    { ownerId: "cho", notified: true, replayed: true },
  ]);
  expect(await counts()).toEqual([1, 1, 1]);
  await expect(retractEvent(notAnn, event)).rejects.toBe(throttled);
  expect(await counts()).toEqual([1, 0, 0]);
  expect(await retractEvent(deps, event)).toEqual([
    { ownerId: "ann", changed: true },
    { ownerId: "ben", changed: false },
    { ownerId: "cho", changed: false },
  ]);
  expect(await counts()).toEqual([0, 0, 0]);
});

test("a retryable error is thrown rather than a refusal, whichever comes first", async () => {
  const { deps } = memoryDeps();
  await notify(deps, { ...mention, kind: "follow", ownerIds: ["ann"] });
  const notCho = { ...deps, engine: withoutOwner(deps.engine, "cho") };
  for (const order of [ownerIds, ownerIds.toReversed()]) {
    await expect(notify(notCho, { ...mention, ownerIds: order })).rejects.toBe(throttled);
  }
  await expect(notify(deps, mention)).rejects.toMatchObject({ reason: "ID_REUSED" });
  // Neither error has kept the owners away who could be notified.
  expect((await inboxOf(deps, "ben")).notificationCount).toBe(1);
  expect((await inboxOf(deps, "cho")).notificationCount).toBe(1);
});

test("a few owners at a time are served, and the results have their order", async () => {
  const many = Array.from({ length: 100 }, (_, i) => `owner${i}`);
  let running = 0;
  let most = 0;
  const results = await forEachOwner(many, async (ownerId) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running -= 1;
    return ownerId;
  });
  expect(results).toEqual(many);
  expect(most).toBe(20);
});

test("a target that its owner has muted keeps nobody else from an event about it", async () => {
  const { deps } = memoryDeps();
  const target = { type: "post", id: "1" };
  await registerTarget(deps, { target, ownerId: "ann", title: "", link: "" });
  await setTargetMuted(deps, { target, ownerId: "ann", muted: true });
  expect(await notify(deps, { ...mention, target })).toMatchObject([
    { ownerId: "ann", notified: false },
    { ownerId: "ben", notified: true },
    { ownerId: "cho", notified: true },
  ]);
});

test("a call without a target and owners is refused by the name of the field", async () => {
  const { deps } = memoryDeps();
  const refusal = {
    reason: "INVALID_REQUEST",
    message: "target_name is required without owner_ids",
    metadata: { field: "target_name" },
  };
  await expect(notify(deps, { ...mention, ownerIds: [] })).rejects.toMatchObject(refusal);
  await expect(retractEvent(deps, { ...event, ownerIds: [] })).rejects.toMatchObject(refusal);
});

test("a repeated call is the same one with further owners and another regroup_after", async () => {
  const { deps } = memoryDeps();
  await notify(deps, { ...mention, ownerIds: ["ann"] });
  expect(await notify(deps, { ...mention, regroupAfterMs: 60_000 })).toMatchObject([
    { ownerId: "ann", replayed: true },
    { ownerId: "ben", replayed: false },
    { ownerId: "cho", replayed: false },
  ]);
});
