/** Tests that all reactions to a deleted target are purged, and that nothing else is purged. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../../src/feed/use-cases/notifications/queries.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { reactionSummaries } from "../../../src/feed/use-cases/reactions/queries.ts";
import { deleteTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import { userKey } from "../../../src/platform/temporal/search-attributes.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import {
  afterDelete,
  expectPurged,
  reactions,
  register,
  runOf,
  stored,
  twoTargets,
  unreadOf,
  unreadOfOne,
  userCount,
} from "../../support/fixtures/purges.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

describe("a target deleted", () => {
  let stack: WorkerStack;
  beforeAll(async () => {
    stack = await startWorkerStack({ store: "proxied dynamodb", worker: false });
  });
  afterEach(async () => {
    stack.proxy.faults({});
  });
  afterAll(() => stack.stop());

  test("is refused at once, and purged by a worker", async () => {
    const { deps } = stack;
    const targets = await twoTargets(stack, "owner");
    const { deleted: target, active } = targets;
    const bystander = await register(stack, "bystander", "another");
    await reactions(stack, bystander, "like", 3);
    const before = await inboxOf(deps, "owner");
    expect((await deleteTarget(deps, { target })).deleteTime).toBeDefined();

    // No worker is running yet.
    const own = { target, kind: "like", userId: "user-1" };
    const refused = { reason: "TARGET_DELETED" };
    await expect(react(deps, { ...own, displayName: "" })).rejects.toMatchObject(refused);
    await expect(unreact(deps, own)).rejects.toMatchObject(refused);
    await expect(register(stack, "owner", target.id)).rejects.toMatchObject(refused);
    expect(await reactionSummaries(deps, [target, active], { viewerId: "user-1" })).toMatchObject([
      { state: "DELETED", counts: new Map(), own: [] },
      {
        state: "ACTIVE",
        counts: new Map([
          ["love", userCount],
          ["like", userCount],
        ]),
        own: { length: 2 },
      },
    ]);
    expect(await stored(stack, "owner", target)).toEqual(afterDelete);
    const after = await inboxOf(deps, "owner");
    expect(after).toMatchObject({ ...unreadOfOne, version: before.version + 2 });
    const described = await eventually(() => runOf(stack, target).describe());
    expect(described.status.name).toBe("RUNNING");
    expect(described.typedSearchAttributes.get(userKey)).toBe("owner");
    expect((await runOf(stack, target).describe()).memo).toEqual({
      summary: `purge reactions to the deleted post ${target.id}`,
    });

    const stop = await stack.startWorker();
    await expectPurged(stack, "owner", targets);
    const listed = await allItems((page) =>
      listNotifications(deps, { ownerId: "owner", state: "UNREAD", kinds: [] }, page),
    );
    expect(listed.map(({ id }) => id.target.id)).toEqual([active.id, active.id]);
    expect(await unreadOf(stack, "bystander")).toEqual({ notificationCount: 1, actorCount: 3 });

    // A second purge finds nothing.
    const { runId } = await runOf(stack, target).describe();
    await stack.workflows.startPurge(target, "owner");
    await expectPurged(stack, "owner", targets);
    expect((await runOf(stack, target).describe()).runId).not.toBe(runId);
    expect(await inboxOf(deps, "owner")).toEqual(after);
    await expect(react(deps, { ...own, displayName: "" })).rejects.toMatchObject(refused);
    await stop();
  });

  test("several times while it is being purged has one purge", async () => {
    const target = await register(stack, "impatient", "twice");
    await deleteTarget(stack.deps, { target });
    const { runId } = await eventually(() => runOf(stack, target).describe());
    await Promise.all([1, 2, 3].map(() => stack.workflows.startPurge(target, "impatient")));
    expect((await runOf(stack, target).describe()).runId).toBe(runId);
  });

  test("is purged completely by a store with faults", async () => {
    const targets = await twoTargets(stack, "unlucky");
    await deleteTarget(stack.deps, { target: targets.deleted });
    stack.proxy.faults({ lostAnswer: 0.2, throttle: 0.2, serverError: 0.2 });
    const stop = await stack.startWorker();
    await expectPurged(stack, "unlucky", targets);
    const { faults } = stack.proxy.stats();
    expect(faults.lostAnswer + faults.throttle + faults.serverError).toBeGreaterThan(5);
    await stop();
  });
});
