/** Tests exclusive reactions through gRPC: one kind for each person, also from two servers. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type Clients, startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
/** Another process' engine on the same store. */
let other: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
  const { tablePrefix } = server.config;
  other = await startServer({ testClock: false, tablePrefix });
});
afterAll(async () => {
  await other.stop();
  await server.stop();
});

/** Reacts to the target `x` of an owner; exclusively unless said otherwise. */
const react = (
  { target }: Owner,
  userId: string,
  kind: string,
  { exclusive = true, clients = server as Clients } = {},
) =>
  clients.reactions.react({
    targetName: target("x"),
    userId,
    displayName: userId,
    kind,
    exclusive,
  });

/** The kinds by which a person is listed among those who react to the target `x`. */
async function kindsOf({ target }: Owner, userId: string, kinds: readonly string[]) {
  const found = await Promise.all(
    kinds.map((kind) => server.reactions.listTargetReactions({ targetName: target("x"), kind })),
  );
  const records = found.flatMap(({ reactions }) => reactions);
  return records.filter((record) => record.userId === userId).map(({ kind }) => kind);
}

describe("an exclusive reaction", () => {
  test("replaces the person's other kinds, and nobody else's", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    for (const kind of ["like", "wow", "sad"]) {
      await react(owner, "A", kind, { exclusive: false });
      await react(owner, "B", kind, { exclusive: false });
    }
    expect(await react(owner, "A", "love")).toMatchObject({ changed: true, reactionCount: 1n });
    expect(await owner.counts("x")).toEqual({ like: 1, wow: 1, sad: 1, love: 1 });
    const kinds = ["like", "wow", "sad", "love"];
    expect(await kindsOf(owner, "A", kinds)).toEqual(["love"]);
    expect(await kindsOf(owner, "B", kinds)).toEqual(["like", "wow", "sad"]);
    expect(await react(owner, "B", "love")).toMatchObject({ changed: true, reactionCount: 2n });
    expect(await owner.counts("x")).toEqual({ love: 2 });
  });

  test("of the kind that the person has already removes the other kinds only", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await react(owner, "A", "like", { exclusive: false });
    await react(owner, "A", "wow", { exclusive: false });
    expect(await react(owner, "A", "like")).toMatchObject({ changed: true, reactionCount: 1n });
    expect(await owner.unread()).toEqual(["x: A ... A (1 at 1)"]);
    const before = await dump(server);
    expect(await react(owner, "A", "like")).toMatchObject({ changed: false, reactionCount: 1n });
    expect(await dump(server)).toEqual(before);
  });

  test("makes room for its kind on a target with 32 kinds", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    for (let i = 0; i < 32; i++) await react(owner, `p${i}`, `k${i}`);
    const before = await dump(server);
    expect(await refusalOf(react(owner, "A", "k32"))).toMatchObject({
      reason: "LIMIT_EXCEEDED",
      metadata: { limit: "32" },
    });
    expect(await dump(server)).toEqual(before);
    expect((await react(owner, "p3", "k32")).changed).toBe(true);
    const counts = await owner.counts("x");
    expect([counts.k3, counts.k32, Object.keys(counts).length]).toEqual([undefined, 1, 32]);
  });

  test("while suppress_notification is set replaces the kinds without a line", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await react(owner, "A", "like");
    const silent = { exclusive: true, suppressNotification: true };
    const person = { targetName: owner.target("x"), userId: "A", displayName: "A" };
    await server.reactions.react({ ...person, kind: "wow", ...silent });
    expect(await owner.counts("x")).toEqual({ wow: 1 });
    expect(await owner.badge()).toBe("0 people in 0 at 3");
  });
});

describe("exclusive reactions of one person in two servers", () => {
  const kinds = ["like", "wow", "sad", "love", "haha"];

  test("at the same time end with one kind, and exact counts", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    // B's reactions stay, so that no count of these kinds is only A's.
    for (const kind of kinds.slice(0, 2)) await react(owner, "B", kind, { exclusive: false });
    for (let round = 0; round < 5; round++) {
      const calls = kinds.map((kind, i) =>
        react(owner, "A", kind, { clients: i % 2 ? other : server }),
      );
      const answers = await Promise.all(calls);
      expect(answers.some(({ changed }) => changed)).toBe(true);
      const own = await kindsOf(owner, "A", kinds);
      expect(own).toHaveLength(1);
      const counts: Record<string, number> = { like: 1, wow: 1 };
      const [kind = ""] = own;
      expect(await owner.counts("x")).toEqual({ ...counts, [kind]: (counts[kind] ?? 0) + 1 });
      // The badge is the sum of the lines, in which A is once.
      const lines = await owner.list();
      const people = lines.map(({ actorCount }) => Number(actorCount));
      expect(people.reduce((sum, count) => sum + count, 0)).toBe(3);
      expect(await owner.badge()).toMatch(`3 people in ${lines.length} at `);
    }
  });

  test("find a kind that the other server has just added", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await react(owner, "A", "like");
    for (const [i, kind] of kinds.slice(1).entries()) {
      await react(owner, "A", kind, { clients: i % 2 ? server : other, exclusive: false });
    }
    await react(owner, "A", "like");
    expect(await owner.counts("x")).toEqual({ like: 1 });
    expect(await kindsOf(owner, "A", kinds)).toEqual(["like"]);
  });
});
