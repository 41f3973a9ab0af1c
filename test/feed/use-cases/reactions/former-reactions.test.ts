/** Tests for how long a person who unreacted is found while a read notification shows the name. */
import { expect, test } from "vitest";
import { reactionRef, readMarkRef } from "../../../../src/feed/ports/records.ts";
import { formerReactionMs } from "../../../../src/feed/rules/reaction.ts";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "post", id: "1" };
const like = { target, kind: "like", userId: "ann", displayName: "Ann" };

test.each([
  { name: "an unread one", again: {}, readAgo: 0 },
  { name: "a silent one", again: { suppressNotification: true }, readAgo: 0 },
  { name: "one after the read mark has expired", again: {}, readAgo: formerReactionMs },
])("the record outlives the history when $name follows", async ({ again, readAgo }) => {
  const { deps, store, clock } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  await react(deps, like);
  await markAllNotificationsRead(deps, { ownerId, version: 1 });
  const historyEnds = clock.time + deps.historyMs;
  clock.time += readAgo;
  if (readAgo > 0) store.force(readMarkRef(ownerId, target, "like"), undefined);
  await unreact(deps, like);
  await react(deps, { ...like, ...again });
  await unreact(deps, like);
  const { value } = (await store.reader.get(reactionRef(target, "like", "ann"))) ?? {};
  expect(value).toMatchObject({ expireTime: expect.any(Number) });
  expect((value as { expireTime: number }).expireTime).toBeGreaterThanOrEqual(historyEnds);
});
