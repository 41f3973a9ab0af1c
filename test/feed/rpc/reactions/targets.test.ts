/** Tests targets through gRPC: registration, refusals and deletion. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notifyMember } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { endPurge } from "../../../../src/feed/use-cases/reactions/purge-target.ts";
import { type Name, post, reactionCalls } from "../../../support/fixtures/reaction-calls.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

const { register, react, unreact, summaries } = reactionCalls(() => server);

describe("RegisterTarget", () => {
  test("again for the same owner sets title and link, and nothing else", async () => {
    const target = post("again");
    const request = { targetName: target, ownerId: "o", title: "A", link: "/a" };
    const first = await server.reactions.registerTarget(request);
    expect(first.target).toMatchObject({
      targetName: target,
      ownerId: "o",
      title: "A",
      link: "/a",
      muted: false,
    });
    expect(first.target?.deleteTime).toBeUndefined();
    expect(first.target?.updateTime).toEqual(first.target?.createTime);
    await react(target, "u");
    const mute = { targetName: target, ownerId: "o", muted: true };
    const muted = (await server.notifications.setTargetMuted(mute)).target;
    const mutedFirst = { ...first.target, muted: true, updateTime: muted?.updateTime };
    expect((await server.reactions.registerTarget(request)).target).toEqual(mutedFirst);
    const other = await server.reactions.registerTarget({
      targetName: target,
      ownerId: "o",
      title: "B",
    });
    const { updateTime } = other.target ?? {};
    expect(other.target).toEqual({ ...mutedFirst, title: "B", link: "", updateTime });
    expect(await summaries([target], "u")).toEqual(["ACTIVE like:1*"]);
  });

  test("for another owner is another target", async () => {
    const target = await register("o");
    const before = await dump(server);
    const call = server.reactions.registerTarget({
      targetName: target,
      ownerId: "p",
      title: "mine",
    });
    expect(await refusalOf(call)).toMatchObject({
      code: "FailedPrecondition",
      reason: "ID_REUSED",
    });
    expect(await dump(server)).toEqual(before);
  });

  test("the same id of another type is another target", async () => {
    const target = await register("o");
    await server.reactions.registerTarget({ targetName: { ...target, type: "x" }, ownerId: "p" });
    await react(target, "u");
    expect(await summaries([target, { ...target, type: "x" }])).toEqual([
      "ACTIVE like:1",
      "ACTIVE",
    ]);
  });

  test("never registers a deleted one again", async () => {
    const target = await register("o");
    await server.reactions.deleteTarget({ targetName: target });
    const before = await dump(server);
    const again = (ownerId: string) =>
      server.reactions.registerTarget({ targetName: target, ownerId });
    expect(await refusalOf(again("o"))).toMatchObject({
      code: "NotFound",
      reason: "TARGET_DELETED",
    });
    expect(await reasonOf(again("p"))).toBe("ID_REUSED");
    expect(await dump(server)).toEqual(before);
  });
});

test("a target of Meguri's own notices is muted by its owner, and nothing else", async () => {
  const notice = { programId: "default", userId: "ann", kind: "points-granted" } as const;
  await notifyMember(server.deps, { ...notice, eventId: "r.default.r1", label: "120" });
  const target = { type: "meguri", id: "default:ann" };
  const { reactions, notifications } = server;
  const event = { eventId: "e", kind: "points-granted", displayName: "1000000" };
  const calls: [name: string, call: () => Promise<unknown>][] = [
    [
      "RegisterTarget",
      () => reactions.registerTarget({ targetName: target, ownerId: "ann", title: "mine" }),
    ],
    ["DeleteTarget", () => reactions.deleteTarget({ targetName: target })],
    ["React", () => reactions.react({ targetName: target, userId: "eve", displayName: "Eve" })],
    ["Unreact", () => reactions.unreact({ targetName: target, userId: "eve" })],
    ["Notify", () => notifications.notify({ targetName: target, ...event })],
  ];
  const before = await dump(server);
  for (const [name, call] of calls) {
    expect(await refusalOf(call()), name).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: ["target_name.type"],
    });
  }
  expect(await dump(server)).toEqual(before);
  const mute = { targetName: target, ownerId: "ann", muted: true };
  expect((await notifications.setTargetMuted(mute)).target?.muted).toBe(true);
});

describe("an unknown or deleted target", () => {
  test("is refused, and nothing is written", async () => {
    const unknown = post("unknown");
    const deleted = await register("owner");
    await react(deleted, "a");
    await server.reactions.deleteTarget({ targetName: deleted });
    const before = await dump(server);
    const { reactions, notifications } = server;
    const calls = (target: Name) => [
      react(target, "u"),
      unreact(target, "a"),
      reactions.listTargetReactions({ targetName: target }),
      notifications.setTargetMuted({ ownerId: "owner", targetName: target, muted: true }),
    ];
    for (const refusal of await Promise.all(calls(unknown).map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "NotFound", reason: "TARGET_NOT_FOUND" });
    }
    for (const refusal of await Promise.all(calls(deleted).map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "NotFound", reason: "TARGET_DELETED" });
    }
    expect(await reasonOf(reactions.deleteTarget({ targetName: unknown }))).toBe(
      "TARGET_NOT_FOUND",
    );
    expect(await dump(server)).toEqual(before);
  });
});

describe("DeleteTarget", () => {
  test("leaves a tombstone and starts a purge, each time until the purge has ended", async () => {
    const target = await register("dead");
    await react(target, "a");
    const first = await server.reactions.deleteTarget({ targetName: target });
    const { deleteTime } = first.target ?? {};
    expect(deleteTime).toBeDefined();
    expect(first.target).toMatchObject({
      targetName: target,
      ownerId: "dead",
      updateTime: deleteTime,
    });
    expect(await server.reactions.deleteTarget({ targetName: target })).toEqual(first);
    const request = `startPurge post ${target.id} of dead`;
    const starts = () => server.workflows.calls.filter((each) => each === request);
    await expect.poll(starts).toHaveLength(2);
    await endPurge(server.deps, target);
    expect(await server.reactions.deleteTarget({ targetName: target })).toEqual(first);
    expect(starts()).toHaveLength(2);
    expect(await summaries([target], "a")).toEqual(["DELETED"]);
  });
});
