/** Tests that all reactions to a deleted target are purged, and that nothing else is purged. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { markNotificationRead } from "../../src/app/notifications/commands.ts";
import { inboxOf } from "../../src/app/notifications/inbox.ts";
import { listNotifications } from "../../src/app/notifications/queries.ts";
import { pendingPurgeRef } from "../../src/app/ports/records.ts";
import { react, unreact } from "../../src/app/reactions/commands.ts";
import { reactionSummaries } from "../../src/app/reactions/queries.ts";
import { deleteTarget, registerTarget, setTargetMuted } from "../../src/app/reactions/targets.ts";
import { purgeTargetId } from "../../src/contract/purges.ts";
import type { Child } from "../../src/dev/stack/child.ts";
import { startTemporal, type Temporal } from "../../src/dev/stack/temporal-dev-server.ts";
import type { TargetName } from "../../src/domain/target.ts";
import { userKey } from "../../src/temporal/search-attributes.ts";
import { allItems } from "../support/fixtures/pages.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

/** The purge sends several BatchWriteItem requests for each kind. A multiple of 3. */
const userCount = 120;
const kinds = ["like", "love"];

const register = ({ deps }: WorkerStack, ownerId: string, id: string): Promise<TargetName> =>
  patiently(() =>
    registerTarget(deps, { target: { type: "post", id }, ownerId, title: id, link: "" }),
  );

/** `count` users react with one kind; a repeated reaction changes nothing. */
const reactions = ({ deps }: WorkerStack, target: TargetName, kind: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, i) =>
      patiently(() => react(deps, { target, kind, userId: `user-${i}`, displayName: `User ${i}` })),
    ),
  );

/** Marks all unread groups of a target as read. */
async function read({ deps }: WorkerStack, ownerId: string, target: TargetName): Promise<void> {
  const { version } = await inboxOf(deps, ownerId);
  for (const kind of kinds) {
    await patiently(() => markNotificationRead(deps, { ownerId, target, kind, version }));
  }
}

/**
 * Creates two targets with the same reactions of two kinds: unread ones, read ones, two read groups
 * of the same kind, and some that were muted.
 */
async function twoTargets(stack: WorkerStack, ownerId: string) {
  const deleted = await register(stack, ownerId, `${ownerId}-deleted`);
  const active = await register(stack, ownerId, `${ownerId}-active`);
  for (const target of [deleted, active]) {
    await reactions(stack, target, "like", userCount / 3);
    await read(stack, ownerId, target);
    await reactions(stack, target, "like", (userCount * 2) / 3);
    await reactions(stack, target, "love", userCount / 3);
    await read(stack, ownerId, target);
    await setTargetMuted(stack.deps, { ownerId, target, muted: true });
    await reactions(stack, target, "love", (userCount * 2) / 3);
    await setTargetMuted(stack.deps, { ownerId, target, muted: false });
    for (const kind of kinds) await reactions(stack, target, kind, userCount);
  }
  return { deleted, active };
}

/** The numbers of all records about a target. */
async function stored({ deps }: WorkerStack, ownerId: string, target: TargetName) {
  const { reader } = deps;
  const counts: Record<string, number> = {};
  for (const kind of kinds) {
    counts[kind] = (await allItems((page) => reader.reactions({ target, kind }, page))).length;
  }
  const about = ({ target: { type, id } }: { target: TargetName }) =>
    type === target.type && id === target.id;
  const now = (await deps.clock.now()).wall;
  const unread = (await allItems((page) => reader.unreadGroups(ownerId, true, page))).filter(about);
  const history = (await allItems((page) => reader.readGroups(ownerId, now, page))).filter(about);
  const sizes = (groups: readonly { peopleCount: number }[]) =>
    groups.map((group) => group.peopleCount);
  return { ...counts, unread: sizes(unread).sort(), history: sizes(history).sort() };
}

/** The records of each target of `twoTargets`. */
const whole = {
  like: userCount,
  love: userCount,
  unread: [userCount / 3, userCount / 3],
  history: [userCount / 3, userCount / 3, userCount / 3],
};

/** After the delete: the unread groups are settled. */
const settled = { ...whole, unread: [] };

/** After the purge: lists skip the read groups until they expire. */
const purged = { ...settled, like: 0, love: 0 };

const unreadOf = async ({ deps }: WorkerStack, ownerId: string) => {
  const { notificationCount, peopleCount } = await inboxOf(deps, ownerId);
  return { notificationCount, peopleCount };
};

/** The badge of an owner with one target of `twoTargets`. */
const unreadOfOne = { notificationCount: 2, peopleCount: (userCount * 2) / 3 };

const runOf = ({ client }: WorkerStack, target: TargetName) =>
  client.workflow.getHandle(purgeTargetId(target));

/** Waits for the purge of one target, and expects that the other one has all its records. */
async function expectPurged(
  stack: WorkerStack,
  ownerId: string,
  { deleted, active }: Record<"deleted" | "active", TargetName>,
): Promise<void> {
  await eventually(() => runOf(stack, deleted).describe());
  await runOf(stack, deleted).result();
  expect(await stored(stack, ownerId, deleted)).toEqual(purged);
  expect(await stack.deps.reader.get(pendingPurgeRef(deleted))).toBeUndefined();
  expect(await stored(stack, ownerId, active)).toEqual(whole);
  expect(await unreadOf(stack, ownerId)).toEqual(unreadOfOne);
}

describe("a target deleted", () => {
  let stack: WorkerStack;
  let worker: Child | undefined;
  beforeAll(async () => {
    stack = await startWorkerStack({ worker: false });
  });
  afterEach(async () => {
    stack.proxy.faults({});
    stack.proxy.onRequest(undefined);
    await worker?.stop();
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
      { state: "DELETED", counts: {}, own: [] },
      { state: "ACTIVE", counts: { like: userCount, love: userCount }, own: { length: 2 } },
    ]);
    expect(await stored(stack, "owner", target)).toEqual(settled);
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
    const listed = await allItems((page) => listNotifications(deps, "owner", "UNREAD", page));
    expect(listed.map(({ target: { id } }) => id)).toEqual([active.id, active.id]);
    expect(await unreadOf(stack, "bystander")).toEqual({ notificationCount: 1, peopleCount: 3 });

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

  test("is purged completely by another worker when one is killed half-way", async () => {
    const targets = await twoTargets(stack, "killed");
    await deleteTarget(stack.deps, { target: targets.deleted });
    const half = Promise.withResolvers<void>();
    let writes = 0;
    stack.proxy.onRequest((operation) => {
      if (operation === "BatchWriteItem" && ++writes === 3) half.resolve();
    });
    stack.proxy.faults({ delay: 1, delayMs: [1_000, 1_000], operations: ["BatchWriteItem"] });
    worker = await stack.startWorkerProcess();
    await half.promise;
    await worker.killHard();
    expect(await stored(stack, "killed", targets.deleted)).not.toEqual(purged);
    stack.proxy.faults({});
    worker = await stack.startWorkerProcess();
    await expectPurged(stack, "killed", targets);
  });
});

describe("while Temporal is away", () => {
  let folder: string;
  let temporal: Temporal;
  let stack: WorkerStack;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "meguri-temporal-"));
    temporal = await startTemporal({ ignoreRunning: true, dataFile: join(folder, "data.db") });
    stack = await startWorkerStack({ temporalAddress: temporal.address, worker: false });
  });
  afterAll(async () => {
    await stack.stop();
    await temporal.stop();
    await rm(folder, { recursive: true });
  });

  test("a target is deleted, and the reconciler later starts its purge", async () => {
    const { deps, client, config } = stack;
    const targets = await twoTargets(stack, "patient");
    const { deleted: target } = targets;
    await temporal.killHard();
    // The server ends before its background task has reached Temporal.
    await deleteTarget({ ...deps, background: () => {} }, { target });
    expect(await unreadOf(stack, "patient")).toEqual(unreadOfOne);
    expect(await stored(stack, "patient", target)).toEqual(settled);
    const late = { target, kind: "like", userId: "late", displayName: "Late" };
    await expect(react(deps, late)).rejects.toMatchObject({ reason: "TARGET_DELETED" });
    await age(stack, target);
    const port = Number(temporal.address.split(":")[1]);
    const dataFile = join(folder, "data.db");
    temporal = await startTemporal({ ignoreRunning: true, port, dataFile });
    await stack.startWorker();
    const reconciler = await eventually(() =>
      client.workflow.start("reconciler", {
        workflowId: "reconciler",
        taskQueue: config.taskQueue,
        args: [{}],
        workflowIdConflictPolicy: "USE_EXISTING",
      }),
    );
    await eventually(() => runOf(stack, target).describe());
    await expectPurged(stack, "patient", targets);
    await reconciler.terminate();
  });
});

/** Makes a pending purge older than the time after which the reconciler starts it. */
async function age({ deps }: WorkerStack, target: TargetName): Promise<void> {
  const ref = pendingPurgeRef(target);
  await deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx) {
      const pending = tx.get(ref);
      if (!pending) expect.unreachable("no purge is pending");
      tx.put(ref, { ...pending, deleteTime: pending.deleteTime - 11_000 });
    },
  });
}
