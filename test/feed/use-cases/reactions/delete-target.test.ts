/** Tests that a delete is complete without Temporal, and that its purge is never forgotten. */
import { expect, test } from "vitest";
import { targetRef } from "../../../../src/feed/ports/records.ts";
import type { Inbox } from "../../../../src/feed/rules/inbox.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import {
  endPurge,
  purgeReactions,
  readKindsToPurge,
  startPendingPurges,
} from "../../../../src/feed/use-cases/reactions/purge-target.ts";
import {
  deleteTarget,
  registerTarget,
  setTargetMuted,
} from "../../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { DomainError } from "../../../../src/platform/words/errors.ts";
import type { TargetName } from "../../../../src/platform/words/target-name.ts";
import { recordWorkflows } from "../../../support/servers/recording-workflows.ts";
import { memoryDeps, noUnreadCountStreams } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "post", id: "dead" };
const start = `startPurge post dead of ${ownerId}`;

/** A store in memory, background tasks that a test runs, and a Temporal that may be away. */
function setUp() {
  const memory = memoryDeps();
  const recording = recordWorkflows();
  const temporal = { isAway: false };
  const tasks: (() => Promise<void>)[] = [];
  const published: Inbox[] = [];
  const connected = (deps: Deps): Deps => ({
    ...deps,
    workflows: {
      ...recording,
      async startPurge(...purge) {
        if (temporal.isAway) throw new DomainError("WORKFLOWS_UNAVAILABLE", "no answer");
        await recording.startPurge(...purge);
      },
    },
    background: (task) => void tasks.push(task),
    unreadCounts: { ...noUnreadCountStreams, publish: (_, inbox) => void published.push(inbox) },
  });
  return {
    ...memory,
    deps: connected(memory.deps),
    process: () => connected(memory.process()),
    temporal,
    calls: recording.calls,
    published,
    async runBackground() {
      for (const task of tasks.splice(0)) await task().catch(() => undefined);
    },
  };
}

type SetUp = ReturnType<typeof setUp>;

const register = (deps: Deps, name: TargetName) =>
  registerTarget(deps, { target: name, ownerId, title: "", link: "" });

const like = (deps: Deps, kind: string, userId: string, name = target) =>
  react(deps, { target: name, kind, userId, displayName: userId });

const comment = (deps: Deps, eventId = "e1") =>
  notify(deps, {
    eventId,
    target,
    kind: "comment",
    actor: { userId: "ann", displayName: "ann" },
    caller: { service: "comments", subject: "" },
  });

const countsOf = async (deps: Deps) => {
  const { notificationCount, actorCount } = await inboxOf(deps, ownerId);
  return { notificationCount, actorCount };
};

/** The names of the records of the deleted target, except its reactions. */
const recordsOf = ({ store }: SetUp) =>
  Object.keys(store.dump()).filter(
    (name) => name.includes("post#dead") && !name.startsWith("reaction#"),
  );

const unexpected = (_: TargetName, error: unknown) => expect.unreachable(String(error));

test("while Temporal is away, the badge is right at once and a later pass purges", async () => {
  const all = setUp();
  const { deps, clock, temporal, calls } = all;
  const active = { type: "post", id: "active" };
  for (const name of [target, active]) {
    await register(deps, name);
    for (const kind of ["like", "love"]) await like(deps, kind, "ann", name);
    await like(deps, "like", "bo", name);
  }
  const before = await inboxOf(deps, ownerId);
  temporal.isAway = true;
  clock.time += 1_000;
  const deleted = await deleteTarget(deps, { target });
  expect(deleted).toMatchObject({ deleteTime: clock.time, updateTime: clock.time });
  const after = await inboxOf(deps, ownerId);
  expect(after).toMatchObject({
    version: before.version + 2,
    notificationCount: 2,
    actorCount: 3,
  });
  expect(all.published.at(-1)).toEqual(after);
  const page = { size: 10, cursor: undefined };
  const { items } = await listNotifications(deps, { ownerId, state: "UNREAD", kinds: [] }, page);
  expect(items.map((each) => each.target?.id)).toEqual(["active", "active"]);
  await expect(like(deps, "like", "cy")).rejects.toMatchObject({ reason: "TARGET_DELETED" });
  await all.runBackground();
  expect(calls).toEqual([]);

  clock.time += 9_000;
  temporal.isAway = false;
  await startPendingPurges(deps, unexpected);
  expect(calls).toEqual([]);
  clock.time += 2_000;
  temporal.isAway = true;
  const failed: unknown[] = [];
  await startPendingPurges(deps, (name, error) => failed.push([name, error]));
  expect(failed).toEqual([[target, expect.objectContaining({ retryable: true })]]);
  temporal.isAway = false;
  await startPendingPurges(deps, unexpected);
  expect(calls).toEqual([start]);

  // What the workflow does.
  expect((await readKindsToPurge(deps, target)).sort()).toEqual(["like", "love"]);
  for (const kind of ["like", "love"]) await purgeReactions(deps, target, kind);
  await endPurge(deps, target);
  await endPurge(deps, target);
  await startPendingPurges(deps, unexpected);
  expect(calls).toEqual([start]);
  expect(await inboxOf(deps, ownerId)).toEqual(after);
  expect(recordsOf(all)).toEqual(["target#post#dead"]);
});

test("a repeated delete starts the purge again until it has ended", async () => {
  const all = setUp();
  const { deps } = all;
  await register(deps, target);
  await like(deps, "like", "ann");
  const first = await deleteTarget(deps, { target });
  all.clock.time += 1_000;
  expect(await deleteTarget(deps, { target })).toEqual(first);
  expect(await deleteTarget(all.process(), { target })).toEqual(first);
  await all.runBackground();
  expect(all.calls).toEqual([start, start, start]);
  await endPurge(deps, target);
  expect(await deleteTarget(deps, { target })).toEqual(first);
  await all.runBackground();
  expect(all.calls).toHaveLength(3);
});

test("a like of a new kind between the read and the delete leaves no group", async () => {
  const all = setUp();
  const { deps } = all;
  const other = all.process();
  await register(deps, target);
  await like(deps, "like", "ann");
  let commits = 0;
  const kindsRead: string[] = [];
  // One new kind comes between the two reads, another one with the first attempt to commit.
  all.store.arriving = async ({ op, refs, writes }) => {
    const isGroups = op === "read" && refs.every(({ kind }) => kind === "unreadGroup");
    if (isGroups && kindsRead.push(...refs.map(({ id }) => id)) === 1) {
      await like(other, "love", "ann");
    }
    const isDelete = writes.some(({ ref }) => ref.kind === "pendingPurge");
    if (isDelete && ++commits === 2) await like(other, "wow", "bo");
    return undefined;
  };
  await deleteTarget(all.process(), { target });
  expect(commits).toBe(3);
  expect(await countsOf(other)).toEqual({ notificationCount: 0, actorCount: 0 });
  expect(recordsOf(all).sort()).toEqual(["pendingPurge#post#dead", "target#post#dead"]);
  expect((await readKindsToPurge(deps, target)).sort()).toEqual(["like", "love", "wow"]);
});

test("the first event of a kind between the read and the delete leaves no group", async () => {
  const all = setUp();
  const { deps } = all;
  const other = all.process();
  await register(deps, target);
  let isFirst = true;
  const reader = {
    ...deps.reader,
    async eventOwners(...args: Parameters<typeof deps.reader.eventOwners>) {
      const found = await deps.reader.eventOwners(...args);
      if (isFirst) {
        isFirst = false;
        await comment(other);
      }
      return found;
    },
  } as typeof deps.reader;
  await deleteTarget({ ...deps, reader }, { target });
  expect(await countsOf(other)).toEqual({ notificationCount: 0, actorCount: 0 });
  expect(all.published.at(-1)).toMatchObject({ notificationCount: 0 });
  await expect(comment(other, "e2")).rejects.toMatchObject({ reason: "TARGET_DELETED" });
});

test("a repeated delete ends the group of an event that the first one left", async () => {
  const all = setUp();
  const { deps } = all;
  await register(deps, target);
  let reads = 0;
  const reader = {
    ...deps.reader,
    async eventOwners(...args: Parameters<typeof deps.reader.eventOwners>) {
      if (++reads === 2) throw new DomainError("STORE_UNAVAILABLE", "no answer");
      const found = await deps.reader.eventOwners(...args);
      if (reads === 1) await comment(all.process());
      return found;
    },
  } as typeof deps.reader;
  const failed = deleteTarget({ ...deps, reader }, { target });
  await expect(failed).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  await all.runBackground();
  expect(all.calls).toEqual([start]);
  expect(await countsOf(deps)).toEqual({ notificationCount: 1, actorCount: 1 });
  await deleteTarget(deps, { target });
  expect(await countsOf(deps)).toEqual({ notificationCount: 0, actorCount: 0 });
});

test("a delete among likes of sixteen kinds by two processes leaves no group", async () => {
  const all = setUp();
  const processes = [all.deps, all.process()];
  await register(all.deps, target);
  all.store.latencyMs = 1;
  const likes = Array.from({ length: 64 }, (_, i) =>
    like(processes[i % 2] as Deps, `kind-${i % 16}`, `user-${i}`).then(
      () => "liked",
      (error: DomainError) => error.reason,
    ),
  );
  await deleteTarget(all.process(), { target });
  const results = await Promise.all(likes);
  expect(results.filter((each) => each !== "liked" && each !== "TARGET_DELETED")).toEqual([]);
  expect(await countsOf(all.deps)).toEqual({ notificationCount: 0, actorCount: 0 });
  expect(recordsOf(all).sort()).toEqual(["pendingPurge#post#dead", "target#post#dead"]);
});

test("the update time follows title, link and mute, but no reaction", async () => {
  const { deps, clock } = setUp();
  const created = await register(deps, target);
  expect(created).toMatchObject({ createTime: clock.time, updateTime: clock.time });
  const changes = [
    () => registerTarget(deps, { target, ownerId, title: "A", link: "" }),
    () => registerTarget(deps, { target, ownerId, title: "A", link: "/a" }),
    () => setTargetMuted(deps, { target, ownerId, muted: true }),
  ];
  for (const change of changes) {
    clock.time += 1_000;
    expect((await change()).updateTime).toBe(clock.time);
    const last = clock.time;
    clock.time += 1_000;
    await like(deps, "like", `user-${clock.time}`);
    expect((await change()).updateTime).toBe(last);
  }
  expect((await deps.reader.get(targetRef(target)))?.value.createTime).toBe(created.createTime);
});

test("a title is cut to 96 bytes, and the same long title changes nothing", async () => {
  const { deps, clock } = setUp();
  const title = `${"t".repeat(95)}題`;
  const first = await registerTarget(deps, { target, ownerId, title, link: "" });
  expect(first.title).toBe("t".repeat(95));
  clock.time += 1_000;
  expect(await registerTarget(deps, { target, ownerId, title, link: "" })).toEqual(first);
});

test("the type of Meguri's own targets is refused", async () => {
  const { deps, store } = setUp();
  await expect(register(deps, { type: "meguri", id: "x" })).rejects.toMatchObject({
    reason: "INVALID_REQUEST",
    metadata: { field: "target_name.type" },
  });
  expect(store.dump()).toEqual({});
});
