/** Tests in which order a transaction changes the kinds of a target that it has read. */
import { expect, test } from "vitest";
import { targetRef } from "../../../../src/feed/ports/records.ts";
import { maxKinds } from "../../../../src/feed/rules/reaction.ts";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "post", id: "1" };

test.each([
  { read: "sad", unread: "wow", changeVersion: 5 },
  { read: "wow", unread: "sad", changeVersion: 4 },
])("takes back $read, which was read, and $unread by name", async (given) => {
  const { deps } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  const like = { target, userId: "ann", displayName: "Ann" };
  await react(deps, { ...like, kind: given.read });
  await markAllNotificationsRead(deps, { ownerId, version: 1 });
  await react(deps, { ...like, kind: given.unread });
  await react(deps, { ...like, kind: "love", exclusive: true, coolDownMs: 1_000 });
  const { version, changeVersion } = await inboxOf(deps, ownerId);
  expect({ version, changeVersion }).toEqual({ version: 6, changeVersion: given.changeVersion });
});

test("an exclusive reaction replaces up to 20 others, of 31 kinds", async () => {
  const { deps } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  const kinds = Array.from({ length: maxKinds - 1 }, (_, i) => `kind-${i}`);
  const by = (userId: string) => ({ target, userId, displayName: userId });
  for (const kind of kinds) await react(deps, { ...by("ann"), kind });
  for (const kind of kinds.slice(0, 20)) await react(deps, { ...by("ben"), kind });
  const love = { kind: "love", exclusive: true };
  await expect(react(deps, { ...by("cy"), ...love })).resolves.toMatchObject({ reactionCount: 1 });
  await expect(react(deps, { ...by("ben"), ...love })).resolves.toMatchObject({ reactionCount: 2 });
  await expect(react(deps, { ...by("ann"), ...love })).rejects.toMatchObject({
    reason: "LIMIT_EXCEEDED",
  });
  const stored = await deps.reader.get(targetRef(target));
  expect(stored?.value.counts).toMatchObject({ "kind-0": 1, "kind-30": 1, love: 2 });
});
