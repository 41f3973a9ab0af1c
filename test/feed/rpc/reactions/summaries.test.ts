/** Tests BatchGetReactionSummaries through gRPC: states, counts, the viewer and recent reactors. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

type Name = { readonly type: string; readonly id: string };

/** The recent reactors of each target by kind, by name: `like: C B A, wow: B`. */
async function recent(targets: readonly Name[], viewerId = ""): Promise<string[]> {
  const request = { targetNames: [...targets], viewerId, includeLatestActors: true };
  const { summaries } = await server.reactions.batchGetReactionSummaries(request);
  return summaries.map(({ counts }) =>
    counts
      .map(({ kind, latestActors }) => {
        const names = latestActors.map(({ displayName }) => displayName);
        return `${kind}: ${names.join(" ")}`;
      })
      .join(", "),
  );
}

describe("recent reactors", () => {
  test("are the latest three of each kind with their names, the latest first", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y", "none");
    const [x, y] = [owner.target("x"), owner.target("y")];
    for (const userId of ["A", "B", "C", "D"]) {
      const displayName = `name of ${userId}`;
      await server.reactions.react({ targetName: x, userId, displayName });
    }
    await server.reactions.react({ targetName: x, userId: "E", displayName: "E", kind: "wow" });
    await owner.react("y", "A");
    expect(await recent([x, owner.target("none"), y, x])).toEqual([
      "like: name of D name of C name of B, wow: E",
      "",
      "like: A",
      "like: name of D name of C name of B, wow: E",
    ]);
    const request = { targetNames: [x], includeLatestActors: true };
    const { summaries } = await server.reactions.batchGetReactionSummaries(request);
    const [like] = summaries[0]?.counts ?? [];
    expect(like?.latestActors.map(({ userId }) => userId)).toEqual(["D", "C", "B"]);
    expect(like?.reactionCount).toBe(4n);
  });

  test("are found of a kind with the name of a property that every object has", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const reaction = { targetName: owner.target("x"), userId: "A", kind: "constructor" };
    await server.reactions.react({ ...reaction, displayName: "A" });
    expect(await recent([owner.target("x")])).toEqual(["constructor: A"]);
    const { summaries } = await server.reactions.batchGetReactionSummaries({
      targetNames: [owner.target("x")],
    });
    expect(summaries[0]?.counts).toMatchObject([{ kind: "constructor", latestActors: [] }]);
  });

  test("are read only when they are requested, and only of active targets", async () => {
    const owner = createOwner(server);
    await owner.register("x", "dead");
    await owner.react("x", "A");
    await owner.react("dead", "A");
    await server.reactions.deleteTarget({ targetName: owner.target("dead") });
    const targets = [owner.target("x"), owner.target("dead"), owner.target("unknown")];
    const { summaries } = await server.reactions.batchGetReactionSummaries({
      targetNames: targets,
    });
    const counts = summaries.map((each) => each.counts.map((count) => count.latestActors));
    expect(counts).toEqual([[[]], [], []]);
    expect(await recent(targets)).toEqual(["like: A", "", ""]);
  });
});

describe("viewer_reacted", () => {
  test("is true of the viewer's active reactions only", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const target = owner.target("x");
    await owner.react("x", "A", "B");
    await server.reactions.react({
      targetName: target,
      userId: "A",
      displayName: "A",
      kind: "wow",
    });
    const own = async (viewerId: string) => {
      const request = { targetNames: [target], viewerId };
      const { summaries } = await server.reactions.batchGetReactionSummaries(request);
      const counts = summaries[0]?.counts ?? [];
      return counts.filter(({ viewerReacted }) => viewerReacted).map(({ kind }) => kind);
    };
    expect(await Promise.all(["A", "B", "C", ""].map(own))).toEqual([
      ["like", "wow"],
      ["like"],
      [],
      [],
    ]);
    await owner.unreact("x", "A");
    expect(await own("A")).toEqual(["wow"]);
    // After a mark-read, a record remains of a reaction that is taken back; it is none.
    await owner.readAll(100);
    await owner.unreact("x", "B");
    await owner.react("x", "C");
    expect(await Promise.all(["B", "C"].map(own))).toEqual([[], ["like"]]);
  });
});
