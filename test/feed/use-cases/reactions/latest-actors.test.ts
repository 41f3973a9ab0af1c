/** Tests who is named as the latest people of a target, and how many queries it takes. */
import { expect, test } from "vitest";
import { targetRef } from "../../../../src/feed/ports/records.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { reactionSummaries } from "../../../../src/feed/use-cases/reactions/queries.ts";
import { deleteTarget, registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

/** A store in memory that counts the queries for reactions, and calls about its targets. */
function openStore() {
  const { deps } = memoryDeps();
  let queries = 0;
  let beforeRecords = async () => {};
  const reader = {
    ...deps.reader,
    reactions: (...given: Parameters<typeof deps.reader.reactions>) => {
      queries += 1;
      return deps.reader.reactions(...given);
    },
    async many(refs: Parameters<typeof deps.reader.many>[0]) {
      if (refs[0]?.kind === "reaction") await beforeRecords();
      return deps.reader.many(refs);
    },
  } as typeof deps.reader;
  const nameOf = (id: string) => ({ type: "post", id });
  return {
    register: (id: string, title = "", link = "") =>
      registerTarget(deps, { target: nameOf(id), ownerId: "o", title, link }),
    react: (id: string, userId: string, kind = "like") =>
      react(deps, { target: nameOf(id), kind, userId, displayName: userId }),
    unreact: (id: string, userId: string, kind = "like") =>
      unreact(deps, { target: nameOf(id), kind, userId }),
    remove: (id: string) => deleteTarget(deps, { target: nameOf(id) }),
    stored: async (id: string) => (await deps.reader.get(targetRef(nameOf(id))))?.value,
    beforeReadingRecords: (act: () => Promise<unknown>) => {
      beforeRecords = async () => {
        beforeRecords = async () => {};
        await act();
      };
    },
    /** The names of each target, such as `like: c b a`, and the number of queries. */
    async latest(...ids: string[]) {
      queries = 0;
      const found = await reactionSummaries({ reader }, ids.map(nameOf), { latest: true });
      const names = found.map(({ latest }) =>
        [...latest]
          .map(([kind, all]) => `${kind}: ${all.map(({ userId }) => userId).join(" ")}`)
          .sort()
          .join(", "),
      );
      return { names, queries };
    },
  };
}

const kinds = ["like", "love", "haha"];

test("the latest people of 50 posts with three kinds take no query", async () => {
  const store = openStore();
  const ids = Array.from({ length: 50 }, (_, i) => `post-${i}`);
  for (const id of ids) {
    await store.register(id);
    for (const kind of kinds) for (const user of "abcd") await store.react(id, user, kind);
  }
  const expected = "haha: d c b, like: d c b, love: d c b";
  expect(await store.latest(...ids)).toEqual({ names: ids.map(() => expected), queries: 0 });
});

test("with ids of 64 characters they take one query at most, whatever title and link", async () => {
  const store = openStore();
  const [id, title, link] = ["x".repeat(64), "題".repeat(32), "l".repeat(200)];
  const people = ["a", "b", "c", "d"].map((each) => each.repeat(64));
  await store.register(id, "A post", "/posts/1");
  for (const kind of kinds) for (const user of people) await store.react(id, user, kind);
  const shown = people.slice(1).reverse().join(" ");
  const names = [`haha: ${shown}, like: ${shown}, love: ${shown}`];
  expect(await store.latest(id)).toEqual({ names, queries: 0 });
  const sizes = async () => {
    const { byKind = {} } = (await store.stored(id))?.latest ?? {};
    return kinds.map((kind) => byKind[kind]?.length ?? 0);
  };
  expect(await sizes()).toEqual([4, 4, 4]);
  await store.register(id, title, link);
  expect(await sizes()).toEqual([3, 3, 2]);
  expect(await store.latest(id)).toEqual({ names, queries: 1 });
});

test("a query finds those who follow when too few are kept, until others come", async () => {
  const store = openStore();
  await store.register("x");
  for (const user of "abcdefghij") await store.react("x", user);
  for (const user of ["j", "i", "h"]) await store.unreact("x", user);
  expect(await store.latest("x")).toEqual({ names: ["like: g f e"], queries: 0 });
  await store.unreact("x", "g");
  expect(await store.latest("x")).toEqual({ names: ["like: f e d"], queries: 1 });
  await store.react("x", "k");
  expect(await store.latest("x")).toEqual({ names: ["like: k f e"], queries: 0 });
  for (const user of ["k", "f", "e"]) await store.unreact("x", user);
  expect(await store.latest("x")).toEqual({ names: ["like: d c b"], queries: 1 });
  for (const user of "abcd") await store.unreact("x", user);
  expect(await store.latest("x")).toEqual({ names: [""], queries: 0 });
});

test("a person who leaves or comes back meanwhile is not named wrongly", async () => {
  const store = openStore();
  await store.register("x");
  for (const user of "abcd") await store.react("x", user);
  store.beforeReadingRecords(() => store.unreact("x", "c"));
  expect(await store.latest("x")).toEqual({ names: ["like: d b a"], queries: 1 });
  store.beforeReadingRecords(async () => {
    await store.unreact("x", "a");
    await store.react("x", "a");
  });
  expect(await store.latest("x")).toEqual({ names: ["like: d b a"], queries: 0 });
});

test("a deleted target forgets them", async () => {
  const store = openStore();
  await store.register("x");
  await store.react("x", "a");
  expect((await store.stored("x"))?.latest?.byKind).toEqual({
    like: [{ userId: "a", version: 1 }],
  });
  await store.remove("x");
  expect((await store.stored("x"))?.latest).toBeUndefined();
});
