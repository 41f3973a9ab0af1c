/** What a deleted target leaves behind, and how it goes: all of it, and nothing else. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { inboxOf, markNotificationRead } from "../../src/app/notifications/commands.ts";
import { listNotifications } from "../../src/app/notifications/queries.ts";
import type { Page, PageRequest } from "../../src/app/ports/pages.ts";
import { react, unreact } from "../../src/app/reactions/commands.ts";
import { reactionSummaries } from "../../src/app/reactions/queries.ts";
import { deleteTarget, registerTarget, setTargetMuted } from "../../src/app/reactions/targets.ts";
import { purgeTargetId } from "../../src/contract.ts";
import type { Child } from "../../src/dev/stack/child.ts";
import { startTemporal, type Temporal } from "../../src/dev/stack/temporal-dev-server.ts";
import type { TargetName } from "../../src/domain/target.ts";
import { userKey } from "../../src/temporal/search-attributes.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const people = 150;
const kinds = ["like", "love"];

const all = async <T>(list: (page: PageRequest) => Promise<Page<T>>): Promise<T[]> => {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await list({ size: 100, cursor });
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
};

const register = ({ deps }: WorkerStack, ownerId: string, id: string): Promise<TargetName> =>
  patiently(() =>
    registerTarget(deps, { target: { type: "post", id }, ownerId, title: id, link: "" }),
  );

/** `count` people react with one kind; those who do already stay. */
const reactions = ({ deps }: WorkerStack, target: TargetName, kind: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, i) =>
      patiently(() => react(deps, { target, kind, userId: `user-${i}`, actorName: `User ${i}` })),
    ),
  );

/** Marks all of a target that is unread. */
async function read({ deps }: WorkerStack, ownerId: string, target: TargetName): Promise<void> {
  const { version } = await inboxOf(deps, ownerId);
  for (const kind of kinds) {
    await patiently(() => markNotificationRead(deps, { ownerId, target, kind, version }));
  }
}

/**
 * Gives an owner two targets with the same reactions of two kinds: unread ones, read ones, two
 * groups of them of the same kind, and some that were muted.
 */
async function twoTargets(stack: WorkerStack, ownerId: string) {
  const gone = await register(stack, ownerId, `${ownerId}-gone`);
  const stays = await register(stack, ownerId, `${ownerId}-stays`);
  for (const target of [gone, stays]) {
    await reactions(stack, target, "like", people / 3);
    await read(stack, ownerId, target);
    await reactions(stack, target, "like", (people * 2) / 3);
    await reactions(stack, target, "love", people / 3);
    await read(stack, ownerId, target);
    await setTargetMuted(stack.deps, { ownerId, target, muted: true });
    await reactions(stack, target, "love", (people * 2) / 3);
    await setTargetMuted(stack.deps, { ownerId, target, muted: false });
    for (const kind of kinds) await reactions(stack, target, kind, people);
  }
  return { gone, stays };
}

/** All that the store holds about a target. */
async function left({ deps }: WorkerStack, ownerId: string, target: TargetName) {
  const { reader } = deps;
  const counts: Record<string, number> = {};
  for (const kind of kinds) {
    counts[kind] = (await all((page) => reader.reactions({ target, kind }, page))).length;
  }
  const about = ({ target: { type, id } }: { target: TargetName }) =>
    type === target.type && id === target.id;
  const now = (await deps.clock.now()).wall;
  const unread = (await all((page) => reader.unreadGroups(ownerId, true, page))).filter(about);
  const history = (await all((page) => reader.readGroups(ownerId, now, page))).filter(about);
  const sizes = (groups: readonly { peopleCount: number }[]) =>
    groups.map((group) => group.peopleCount);
  return { ...counts, unread: sizes(unread).sort(), history: sizes(history).sort() };
}

/** As `twoTargets` has left each of its targets. */
const whole = {
  like: people,
  love: people,
  unread: [people / 3, people / 3],
  history: [people / 3, people / 3, people / 3],
};

const nothing = { like: 0, love: 0, unread: [], history: [] };

const unreadOf = async ({ deps }: WorkerStack, ownerId: string) => {
  const { groupCount, peopleCount } = await inboxOf(deps, ownerId);
  return { groupCount, peopleCount };
};

const runOf = ({ client }: WorkerStack, target: TargetName) =>
  client.workflow.getHandle(purgeTargetId(target));

/** Expects that one target is gone whole and the other one is as it was. */
async function expectRemoved(
  stack: WorkerStack,
  ownerId: string,
  { gone, stays }: Record<"gone" | "stays", TargetName>,
): Promise<void> {
  await runOf(stack, gone).result();
  expect(await left(stack, ownerId, gone)).toEqual(nothing);
  expect(await left(stack, ownerId, stays)).toEqual(whole);
  expect(await unreadOf(stack, ownerId)).toEqual({ groupCount: 2, peopleCount: (people * 2) / 3 });
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

  test("is dead at once, and what it leaves is removed by a worker", async () => {
    const { deps } = stack;
    const targets = await twoTargets(stack, "owner");
    const { gone: target, stays } = targets;
    const bystander = await register(stack, "bystander", "another");
    await reactions(stack, bystander, "like", 3);
    const before = await inboxOf(deps, "owner");
    expect(await deleteTarget(deps, { target })).toMatchObject({ deleted: true });

    // No worker runs yet.
    const own = { target, kind: "like", userId: "user-1" };
    const refused = { reason: "TARGET_DELETED" };
    await expect(react(deps, { ...own, actorName: "" })).rejects.toMatchObject(refused);
    await expect(unreact(deps, own)).rejects.toMatchObject(refused);
    await expect(register(stack, "owner", target.id)).rejects.toMatchObject(refused);
    expect(await reactionSummaries(deps, [target, stays], "user-1")).toMatchObject([
      { state: "DELETED", counts: {}, own: [] },
      { state: "ACTIVE", counts: { like: people, love: people }, own: { length: 2 } },
    ]);
    expect(await left(stack, "owner", target)).toEqual(whole);
    const described = await runOf(stack, target).describe();
    expect(described.status.name).toBe("RUNNING");
    expect(described.typedSearchAttributes.get(userKey)).toBe("owner");

    const stop = await stack.startWorker();
    await expectRemoved(stack, "owner", targets);
    const after = await inboxOf(deps, "owner");
    expect(after.version).toBeGreaterThan(before.version);
    const listed = await all((page) => listNotifications(deps, "owner", "UNREAD", page));
    expect(listed.map(({ target: { id } }) => id)).toEqual([stays.id, stays.id]);
    expect(await unreadOf(stack, "bystander")).toEqual({ groupCount: 1, peopleCount: 3 });

    // Deleted again it finds nothing to do.
    const { runId } = await runOf(stack, target).describe();
    await deleteTarget(deps, { target });
    await expectRemoved(stack, "owner", targets);
    expect((await runOf(stack, target).describe()).runId).not.toBe(runId);
    expect(await inboxOf(deps, "owner")).toEqual(after);
    await expect(react(deps, { ...own, actorName: "" })).rejects.toMatchObject(refused);
    await stop();
  }, 120_000);

  test("twice while it is being removed has one removal", async () => {
    const target = await register(stack, "impatient", "twice");
    await deleteTarget(stack.deps, { target });
    const { runId } = await runOf(stack, target).describe();
    await Promise.all([1, 2, 3].map(() => deleteTarget(stack.deps, { target })));
    expect((await runOf(stack, target).describe()).runId).toBe(runId);
  });

  test("is removed whole by a store on a bad day", async () => {
    const targets = await twoTargets(stack, "unlucky");
    await deleteTarget(stack.deps, { target: targets.gone });
    stack.proxy.faults({ lostAnswer: 0.2, throttle: 0.2, serverError: 0.2 });
    const stop = await stack.startWorker();
    await expectRemoved(stack, "unlucky", targets);
    const { faults } = stack.proxy.stats();
    expect(faults.lostAnswer + faults.throttle + faults.serverError).toBeGreaterThan(5);
    await stop();
  }, 120_000);

  test("is removed whole by another worker when one is killed half-way", async () => {
    const targets = await twoTargets(stack, "killed");
    await deleteTarget(stack.deps, { target: targets.gone });
    const half = Promise.withResolvers<void>();
    let writes = 0;
    stack.proxy.onRequest((operation) => {
      if (operation === "BatchWriteItem" && ++writes === 3) half.resolve();
    });
    stack.proxy.faults({ delay: 1, delayMs: [1_000, 1_000], operations: ["BatchWriteItem"] });
    worker = await stack.startWorkerProcess();
    await half.promise;
    await worker.killHard();
    expect(await left(stack, "killed", targets.gone)).not.toEqual(nothing);
    stack.proxy.faults({});
    worker = await stack.startWorkerProcess();
    await expectRemoved(stack, "killed", targets);
  }, 120_000);
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

  test("a target is dead all the same, and the same call again has it removed", async () => {
    const { deps } = stack;
    const targets = await twoTargets(stack, "patient");
    const { gone: target } = targets;
    await temporal.killHard();
    const unavailable = { reason: "WORKFLOWS_UNAVAILABLE", retryable: true };
    await expect(deleteTarget(deps, { target })).rejects.toMatchObject(unavailable);
    const late = { target, kind: "like", userId: "late", actorName: "Late" };
    await expect(react(deps, late)).rejects.toMatchObject({ reason: "TARGET_DELETED" });
    const port = Number(temporal.address.split(":")[1]);
    const dataFile = join(folder, "data.db");
    temporal = await startTemporal({ ignoreRunning: true, port, dataFile });
    await eventually(() => deleteTarget(deps, { target }));
    await stack.startWorker();
    await expectRemoved(stack, "patient", targets);
  }, 120_000);
});
