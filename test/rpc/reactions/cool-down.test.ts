/** Tests the cool-down through gRPC: to like, be read, unlike and like again makes one line. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../support/fixtures/owners.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

/** Marks all lines as read. */
const readAll = async ({ readAll: mark }: Owner) => (await mark(1_000)).markedCount;

describe("a person whose like the owner has read", () => {
  test("makes no further line by taking it back and liking again; counts are exact", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    expect(await readAll(owner)).toBe(1n);
    for (let i = 0; i < 3; i++) {
      await owner.unreact("x", "A");
      expect(await owner.counts("x")).toEqual({});
      await owner.react("x", "A");
      expect(await owner.counts("x")).toEqual({ like: 1 });
      expect(await owner.unread()).toEqual([]);
      expect(await readAll(owner)).toBe(0n);
    }
    expect(await owner.history()).toEqual(["x: A ... A (1 at 1)"]);
    expect(await owner.count()).toMatchObject({
      actorCount: 0n,
      notificationCount: 0n,
      unseenNotificationCount: 0n,
    });
  });

  test("notifies of other kinds and targets, and by events; so does any other person", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A");
    await readAll(owner);
    await owner.unreact("x", "A");
    await owner.react("x", "A");
    const wow = { targetName: owner.target("x"), userId: "A", displayName: "A", kind: "wow" };
    await server.reactions.react(wow);
    await owner.react("y", "A");
    await owner.react("x", "B");
    await owner.notify("x", "e1", "A", "like");
    const lines = (await owner.list()).slice(0, 4);
    const people = lines.map(({ target, kind, type, latestActors }) => [
      `${target?.title} ${kind} ${type}`,
      latestActors.map(({ userId }) => userId).join(" "),
    ]);
    expect(people).toEqual([
      ["x like 2", "A"],
      ["x like 1", "B"],
      ["y like 1", "A"],
      ["x wow 1", "A"],
    ]);
  });

  test("is in no count and no list after taking it back, though a record remains", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const userId = `${owner.ownerId}-guest`;
    await owner.react("x", userId, "B");
    const wow = { targetName: owner.target("x"), userId, displayName: "A", kind: "wow" };
    await server.reactions.react(wow);
    await readAll(owner);
    await owner.unreact("x", userId);
    expect(await recordsOf(owner, userId)).toHaveLength(2);
    const target = owner.target("x");
    const { reactions } = server;
    const request = { targetNames: [target], viewerId: userId, includeLatestActors: true };
    const { summaries } = await reactions.batchGetReactionSummaries(request);
    expect(summaries[0]?.counts).toMatchObject([
      { kind: "like", reactionCount: 1n, viewerReacted: false, latestActors: [{ userId: "B" }] },
      { kind: "wow", reactionCount: 1n, viewerReacted: true, latestActors: [{ userId }] },
    ]);
    const people = (await reactions.listTargetReactions({ targetName: target })).reactions;
    expect(people.map((each) => each.userId)).toEqual(["B"]);
    const own = async () => {
      const found = await reactions.listUserReactions({ userId });
      return found.reactions.map(({ kind }) => kind);
    };
    await expect.poll(own).toEqual(["wow"]);
    const like = (await owner.list()).find(({ kind }) => kind === "like");
    expect(await owner.actors(like?.notificationId ?? "")).toEqual(["B"]);
    expect((await reactions.unreact({ targetName: target, userId })).changed).toBe(false);
  });

  test("notifies again at once by a call without a cool-down", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const like = { targetName: owner.target("x"), userId: "A", displayName: "A" };
    for (let i = 0; i < 3; i++) {
      await server.reactions.react({ ...like, coolDown: durationFromMs(0) });
      expect(await readAll(owner)).toBe(1n);
      await owner.unreact("x", "A");
    }
    expect(await owner.history()).toHaveLength(3);
    await owner.react("x", "A");
    expect(await owner.unread()).toEqual([]);
  });

  test("stays quiet when the reaction was replaced by an exclusive one and came back", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const person = {
      targetName: owner.target("x"),
      userId: "A",
      displayName: "A",
      exclusive: true,
    };
    await server.reactions.react({ ...person, kind: "like" });
    await readAll(owner);
    await server.reactions.react({ ...person, kind: "wow" });
    await readAll(owner);
    for (const kind of ["like", "wow", "like", "wow"]) {
      await server.reactions.react({ ...person, kind });
      expect(await owner.unread()).toEqual([]);
      expect(await owner.counts("x")).toEqual({ [kind]: 1 });
    }
  });
});

/** The stored records of a person's reactions to the target `x`. */
async function recordsOf({ target }: Owner, userId: string): Promise<string[]> {
  const items = await dump(server);
  return items.filter(
    (item) => item.includes(`"sk",{"S":"${userId}"}`) && item.includes(target("x").id),
  );
}
