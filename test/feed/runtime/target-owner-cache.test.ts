/** Tests how long the owners of targets are cached. */
import { expect, test } from "vitest";
import { targetRef } from "../../../src/feed/ports/records.ts";
import type { Target } from "../../../src/feed/rules/target.ts";
import { createTargetOwnerCache } from "../../../src/feed/runtime/target-owner-cache.ts";
import { post } from "../../support/fixtures/unread-group-fixture.ts";
import { countingReader } from "../../support/stores/counting-reader.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

const target = (more: Partial<Target> = {}): Target => ({ ...post, ...more });

function setUp() {
  const store = createMemoryStore();
  const { state, counting } = countingReader(store.reader);
  return { store, state, owners: createTargetOwnerCache(counting) };
}

test("an owner is read once, and then served though the store is away", async () => {
  const { store, state, owners } = setUp();
  store.force(targetRef(post), target({ deleteTime: 1 }));
  expect(await owners.of(post)).toBe("owner");
  state.down = true;
  expect(await owners.of(target())).toBe("owner");
  expect(state.reads).toBe(1);
  await expect(owners.of({ ...post, type: "other" })).rejects.toMatchObject({
    reason: "STORE_UNAVAILABLE",
  });
});

test("that a target is missing is not cached, nor served from an earlier read", async () => {
  const { store, state, owners } = setUp();
  const refused = { reason: "TARGET_NOT_FOUND" };
  await expect(owners.of(post)).rejects.toMatchObject(refused);
  const early = owners.of(post);
  store.force(targetRef(post), target());
  const late = owners.of(post);
  await expect(early).rejects.toMatchObject(refused);
  expect(await late).toBe("owner");
  expect(state.reads).toBe(3);
});

test("100,000 owners are kept, those that were used last", async () => {
  const { state, counting } = countingReader({
    ...createMemoryStore().reader,
    get: async () => ({ value: target(), version: 1 }) as never,
  });
  const owners = createTargetOwnerCache(counting);
  const use = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, i) => owners.of({ ...post, id: `${from + i}` })),
    );
  await use(0, 100_000);
  await use(0, 1);
  expect(state.reads).toBe(100_000);
  await use(100_000, 100_001);
  await use(0, 1);
  expect(state.reads).toBe(100_001);
  await use(1, 2);
  expect(state.reads).toBe(100_002);
});
