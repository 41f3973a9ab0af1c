/** Tests that a block leaves each notification once, whatever fails or comes at the same time. */
import { expect, test } from "vitest";
import { readGroupRef, unreadGroupRef } from "../../../../src/feed/ports/records.ts";
import { eventKnownMs, noTarget } from "../../../../src/feed/rules/event.ts";
import { blockPerson } from "../../../../src/feed/use-cases/notifications/block-person.ts";
import { markNotificationRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import {
  listMutedPeople,
  setPersonMuted,
} from "../../../../src/feed/use-cases/notifications/muted-people.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { DomainError } from "../../../../src/platform/words/errors.ts";
import { allItems } from "../../../support/fixtures/pages.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const targets = ["1", "2", "3"].map((id) => ({ type: "post", id }));
const block = { ownerId, userId: "eve" };

test("the others are left, the error is thrown, and a repeated call does the rest", async () => {
  const { deps } = memoryDeps();
  for (const target of targets) {
    await registerTarget(deps, { target, ownerId, title: "", link: "" });
    await react(deps, { target, kind: "like", userId: "eve", displayName: "Eve" });
  }
  const bad = unreadGroupRef(ownerId, { type: "post", id: "1" }, "like");
  const engine: typeof deps.engine = {
    async transact(request) {
      if (request.readSet.some(({ id }) => id === bad.id)) {
        throw new DomainError("THROTTLED", "the store throttles this notification");
      }
      return deps.engine.transact(request);
    },
  };
  await expect(blockPerson({ ...deps, engine }, block)).rejects.toMatchObject({
    reason: "THROTTLED",
  });
  expect(await inboxOf(deps, ownerId)).toMatchObject({ notificationCount: 1, actorCount: 1 });
  expect(await blockPerson(deps, block)).toMatchObject({
    changed: true,
    inbox: { notificationCount: 0, actorCount: 0 },
  });
});

test("an event that another block has taken out meanwhile changes nothing", async () => {
  const { deps, process: another } = memoryDeps();
  await notify(deps, {
    ownerIds: [ownerId],
    kind: "comment",
    eventId: "e",
    actor: { userId: "eve", displayName: "Eve" },
    link: "",
    data: new Uint8Array(),
    caller: asService("blog"),
  });
  const engine: typeof deps.engine = {
    async transact(request) {
      const takesOut = request.readSet.some(({ kind }) => kind === "notificationEvent");
      if (takesOut) await blockPerson(another(), block);
      return deps.engine.transact(request);
    },
  };
  const { inbox } = await blockPerson({ ...deps, engine }, block);
  expect(inbox).toMatchObject({ version: 2, notificationCount: 0 });
});

test("a read notification ends with the last one who can be shown", async () => {
  const { deps, clock } = memoryDeps();
  const target = { type: "post", id: "1" };
  const like = { target, kind: "like" };
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  const people = ["u1", "u2", "u3", "u4", "u5", "u6"];
  for (const userId of people) await react(deps, { ...like, userId, displayName: userId });
  await markNotificationRead(deps, { ownerId, ...like, version: 6 });
  await unreact(deps, { ...like, userId: "u3" });
  clock.time += 2_000;
  for (const userId of ["u2", "u1", "u4", "u5", "u6"]) await blockPerson(deps, { ownerId, userId });
  expect(await deps.reader.get(readGroupRef(ownerId, target, "like", 1))).toBeUndefined();
});

test("an event that was taken out is in no notification, as a repeated Notify says", async () => {
  const { deps } = memoryDeps();
  const caller = asService("blog");
  const event = { kind: "comment", ownerIds: [ownerId], caller };
  const report = (eventId: string, userId: string) =>
    notify(deps, { ...event, eventId, actor: { userId, displayName: userId } });
  await report("e1", "bob");
  await report("e2", "eve");
  await blockPerson(deps, block);
  const repeated = { ownerId, replayed: true, retracted: false };
  expect(await report("e1", "bob")).toEqual([{ ...repeated, notified: true }]);
  expect(await report("e2", "eve")).toEqual([{ ...repeated, notified: false }]);
  const retract = () => retractEvent(deps, { eventId: "e2", ownerIds: [ownerId], caller });
  expect(await retract()).toEqual([{ ownerId, changed: true }]);
  expect(await retract()).toEqual([{ ownerId, changed: false }]);
  expect(await inboxOf(deps, ownerId)).toMatchObject({ notificationCount: 1, actorCount: 1 });
});

test("all pages of lines are left, unread and read", async () => {
  const { deps } = memoryDeps();
  for (let i = 1; i <= 130; i++) {
    const target = { type: "post", id: String(i) };
    const like = { target, kind: "like" };
    await registerTarget(deps, { target, ownerId, title: "", link: "" });
    await react(deps, { ...like, userId: "eve", displayName: "Eve" });
    await react(deps, { ...like, userId: "ann", displayName: "Ann" });
    // Every other line is read.
    if (i % 2 === 0) await markNotificationRead(deps, { ownerId, ...like, version: 1_000 });
  }
  const { inbox } = await blockPerson(deps, block);
  expect(inbox).toMatchObject({ notificationCount: 65, actorCount: 65 });
  for (const state of ["UNREAD", "READ"] as const) {
    const filter = { ownerId, state, kinds: [] };
    const lines = await allItems((page) => listNotifications(deps, filter, page));
    const people = lines.map(({ latestMembers }) => latestMembers.map(({ userId }) => userId));
    expect(people).toEqual(Array.from({ length: 65 }, () => ["ann"]));
  }
});

test("a call goes through 512 lines, the next ones through the others", async () => {
  const { deps } = memoryDeps();
  const caller = asService("blog");
  const report = (eventId: string, userId: string, kind: string) =>
    notify(deps, {
      ownerIds: [ownerId],
      kind,
      eventId,
      actor: { userId, displayName: userId },
      caller,
    });
  for (let i = 1; i <= 600; i++) await report(`e${i}`, "bob", `k${i}`);
  await report("last", "eve", "k600");
  await report("read", "eve", "read");
  await report("read too", "bob", "read");
  await markNotificationRead(deps, { ownerId, target: noTarget, kind: "~read", version: 1_000 });
  const first = await blockPerson(deps, block);
  expect(first).toMatchObject({ changed: true, inbox: { actorCount: 601 } });
  // What the owner does meanwhile is not undone: only the first call mutes.
  await setPersonMuted(deps, { ...block, muted: false });
  const second = await blockPerson(deps, { ...block, cursor: first.cursor });
  expect(second).toMatchObject({ changed: true, inbox: { actorCount: 600 } });
  const third = await blockPerson(deps, { ...block, cursor: second.cursor });
  expect(third).toMatchObject({ changed: false, cursor: undefined });
  const filter = { ownerId, state: "READ", kinds: [] } as const;
  const read = await allItems((page) => listNotifications(deps, filter, page));
  expect(read).toMatchObject([{ eventCount: 1, latestMembers: [{ userId: "bob" }] }]);
  expect((await listMutedPeople(deps, ownerId, { size: 1, cursor: undefined })).items).toEqual([]);
});

test("a line that moves to an earlier page while the pages are read is left, too", async () => {
  const { deps } = memoryDeps();
  const old = { target: { type: "post", id: "0" }, kind: "like" };
  const like = async (target: typeof old.target, userId: string) => {
    await registerTarget(deps, { target, ownerId, title: "", link: "" });
    await react(deps, { target, kind: "like", userId, displayName: userId });
  };
  await like(old.target, "eve");
  for (let i = 1; i <= 48; i++) await like({ type: "post", id: String(i) }, "ann");
  // Bob makes it the latest line, on a page of its own, and leaves it after the first page.
  await like(old.target, "bob");
  const reader: typeof deps.reader = {
    ...deps.reader,
    async unreadGroups(...given) {
      const found = await deps.reader.unreadGroups(...given);
      await unreact(deps, { ...old, userId: "bob" });
      return found;
    },
  };
  const { inbox } = await blockPerson({ ...deps, reader }, block);
  expect(inbox).toMatchObject({ notificationCount: 48, actorCount: 48 });
  expect(await deps.reader.get(unreadGroupRef(ownerId, old.target, "like"))).toBeUndefined();
});

test("an id that is another person's event by now stays that of this event", async () => {
  const { deps, clock } = memoryDeps();
  const caller = asService("blog");
  const event = { kind: "comment", ownerIds: [ownerId], caller, eventId: "e" };
  const report = (userId: string) =>
    notify(deps, { ...event, actor: { userId, displayName: userId } });
  await report("eve");
  // The id is forgotten, but the record of the event is kept for a day more.
  clock.time += eventKnownMs(deps.historyMs) + 1;
  await report("bob");
  await blockPerson(deps, block);
  expect(await report("bob")).toMatchObject([{ notified: true, replayed: true }]);
});
