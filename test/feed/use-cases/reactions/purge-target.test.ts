/** Tests that a purge does not touch an active target, at which pace it deletes, and heartbeats. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { expect, test, vi } from "vitest";
import { createActivities } from "../../../../activities/index.ts";
import { createDynamoPurger } from "../../../../src/feed/store/purger.ts";
import { markNotificationRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import {
  endPurge,
  purgeReactions,
  readKindsToPurge,
} from "../../../../src/feed/use-cases/reactions/purge-target.ts";
import { deleteTarget, registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { tableName } from "../../../../src/platform/dynamodb/tables.ts";
import { steps } from "../../../../workflows/timing.ts";
import { noObservers } from "../../../support/fixtures/no-observers.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

test("nothing of an active target is purged, whoever starts the purge", async () => {
  const { deps, store } = memoryDeps();
  const target = { type: "post", id: "p" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  await react(deps, { target, kind: "like", userId: "ann", displayName: "Ann" });
  await markNotificationRead(deps, { ownerId: "owner", target, kind: "like", version: 1 });
  await react(deps, { target, kind: "like", userId: "bo", displayName: "Bo" });
  const before = store.dump();
  expect(Object.keys(before).some((name) => name.startsWith("readGroup#"))).toBe(true);
  expect(await readKindsToPurge(deps, target)).toEqual([]);
  expect(await purgeReactions(deps, target, "like")).toBe(false);
  await endPurge(deps, target);
  expect(store.dump()).toEqual(before);
});

test("the reactions of a deleted target are deleted at the pace of sweeps", async () => {
  const { deps, store } = memoryDeps();
  const target = { type: "post", id: "p" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  for (let i = 0; i < 30; i++)
    await react(deps, { target, kind: "like", userId: `u-${i}`, displayName: "" });
  await deleteTarget(deps, { target });
  const paced: unknown[] = [];
  const purger = createDynamoPurger(
    { retrying: store.client },
    tableName(""),
    async (flow, changes) => void paced.push([flow, changes]),
  );
  expect(await purgeReactions({ ...deps, purger }, target, "like")).toBe(false);
  expect(paced).toEqual([
    ["purge/post", 25],
    ["purge/post", 5],
  ]);
});

test("a page that waits for the pace sends heartbeats, so no other attempt begins", async () => {
  const { deps } = memoryDeps();
  const target = { type: "post", id: "p" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  await deleteTarget(deps, { target });
  const { promise: paced, resolve: goOn } = Promise.withResolvers<boolean>();
  const waiting = Promise.withResolvers<void>();
  const reactions = () => {
    waiting.resolve();
    return paced;
  };
  const purger = { ...deps.purger, reactions };
  const { purgeReactions } = createActivities({ deps: { ...deps, purger }, ...noObservers });
  const environment = new MockActivityEnvironment();
  let heartbeats = 0;
  environment.on("heartbeat", () => {
    heartbeats += 1;
  });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const purged = environment.run(purgeReactions, { ...target, kind: "like" });
  await waiting.promise;
  vi.advanceTimersByTime(3 * steps.heartbeatMs);
  vi.useRealTimers();
  goOn(false);
  await purged;
  expect(heartbeats).toBe(3);
});
