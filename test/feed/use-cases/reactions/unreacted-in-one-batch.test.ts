/** Tests a reaction that is made, read, taken back and made again by calls of one transaction. */
import { expect, test } from "vitest";
import { reactionRef } from "../../../../src/feed/ports/records.ts";
import { formerReactionMs } from "../../../../src/feed/rules/reaction.ts";
import { markNotificationRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { nameOf } from "../../../../src/platform/engine/item-store.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

test("leaves a former reaction with a version that none had, which changes on", async () => {
  const { deps, store, clock } = memoryDeps();
  const target = { type: "post", id: "1" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  const like = { target, kind: "like", userId: "user", displayName: "User" };
  await react(deps, { ...like, userId: "first" });

  // The calls arrive one after another while the engine commits an earlier one.
  const calls: Promise<unknown>[] = [];
  const batches: number[] = [];
  store.arriving = async ({ op, writes }) => {
    if (op !== "commit") return undefined;
    batches.push(writes.length);
    if (batches.length > 1) return undefined;
    for (const call of [
      () => react(deps, like),
      () => markNotificationRead(deps, { ownerId: "owner", target, kind: "like", version: 9 }),
      () => unreact(deps, like),
    ]) {
      calls.push(call());
      await new Promise(setImmediate);
    }
    return undefined;
  };
  await react(deps, { ...like, userId: "second" });
  await Promise.all(calls);
  expect(batches).toHaveLength(2);

  const record = nameOf(reactionRef(target, "like", "user"));
  const expireTime = clock.time + Math.max(formerReactionMs, deps.historyMs);
  const former = { readTime: clock.time, createTime: clock.time, expireTime };
  expect(store.dump()[record]).toEqual({ value: former, version: 5 });
  await react(deps, { ...like, coolDownMs: 1_000 });
  expect(store.dump()[record]).toMatchObject({
    value: { notified: false, version: 6 },
    version: 6,
  });
});
