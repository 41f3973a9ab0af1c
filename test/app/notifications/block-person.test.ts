/** Tests that a block leaves each notification once, whatever fails or comes at the same time. */
import { expect, test } from "vitest";
import { blockPerson } from "../../../src/app/notifications/block-person.ts";
import { inboxOf } from "../../../src/app/notifications/inbox.ts";
import { notify } from "../../../src/app/notifications/notify.ts";
import { unreadGroupRef } from "../../../src/app/ports/records.ts";
import { react } from "../../../src/app/reactions/commands.ts";
import { registerTarget } from "../../../src/app/reactions/targets.ts";
import { asService } from "../../../src/domain/caller.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

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
