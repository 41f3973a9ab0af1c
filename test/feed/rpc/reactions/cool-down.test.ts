/** Tests the cool-down through gRPC: what remains of a like that was read, and a call without. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

/** Marks all lines as read. */
const readAll = async ({ readAll: mark }: Owner) => (await mark(1_000)).markedCount;

describe("a person whose like the owner has read", () => {
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

  test("notifies again at once, but not within the cool-down of a call", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const like = { targetName: owner.target("x"), userId: "A", displayName: "A" };
    for (let i = 0; i < 3; i++) {
      await server.reactions.react(like);
      expect(await readAll(owner)).toBe(1n);
      await owner.unreact("x", "A");
    }
    expect(await owner.history()).toHaveLength(3);
    await server.reactions.react({ ...like, coolDown: durationFromMs(3_600_000) });
    expect(await owner.unread()).toEqual([]);
  });
});

/** The stored records of a person's reactions to the target `x`. */
async function recordsOf({ target }: Owner, userId: string): Promise<string[]> {
  const items = await dump(server);
  return items.filter(
    (item) => item.includes(`"sk",{"S":"${userId}"}`) && item.includes(target("x").id),
  );
}
