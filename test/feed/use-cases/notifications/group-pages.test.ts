/** Tests that pages of groups are exact and full for any mix of groups, and what they read. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { targetRef } from "../../../../src/feed/ports/records.ts";
import { versionOf } from "../../../../src/feed/rules/unread-group.ts";
import {
  type GroupFilter,
  listGroups,
} from "../../../../src/feed/use-cases/notifications/group-pages.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import {
  far,
  newTarget,
  putRead,
  putUnread,
  readGroup,
  target,
  unreadGroup,
} from "../../../support/fixtures/stored-reactions.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";
import { fill, pages, write } from "../../../support/stores/records.ts";

const ownerId = "owner";
const kinds = ["like", "~comment"] as const;

/** A group at its place in the list: state, kind, and whether its target is deleted. */
interface Placed {
  readonly state: "UNREAD" | "READ" | "EXPIRED";
  readonly kind: (typeof kinds)[number];
  readonly isDeleted: boolean;
}

const placed = fc.record<Placed>({
  state: fc.constantFrom("UNREAD", "READ", "EXPIRED"),
  kind: fc.constantFrom(...kinds),
  isDeleted: fc.boolean(),
});

const hidden: Placed = { state: "EXPIRED", kind: "like", isDeleted: false };
const shown: Placed = { ...hidden, state: "READ" };

/** Stores groups of the versions 2, 3 and so on, and counts the reads of lists of groups. */
async function setUp(groups: readonly Placed[]) {
  const { deps, store } = memoryDeps();
  const { wall } = await deps.clock.now();
  const stored = groups.map((each, i) => ({ ...each, name: newTarget(), version: i + 2 }));
  const writes = stored.flatMap(({ state, kind, isDeleted, name, version }) => {
    const more = isDeleted ? { deleteTime: 1 } : {};
    const expireTime = state === "EXPIRED" ? wall : far;
    const group =
      state === "UNREAD"
        ? putUnread(ownerId, unreadGroup(name, version, { kind }))
        : putRead(ownerId, readGroup(name, version, { kind, expireTime }));
    return [group, write(targetRef(name), target(name, more))];
  });
  await fill(store.itemStore, writes);
  const reads: number[] = [];
  const reader: Deps["reader"] = {
    ...deps.reader,
    readGroups(...given) {
      reads.push(given[2].size);
      return deps.reader.readGroups(...given);
    },
  };
  const list = async (filter: Omit<GroupFilter, "ownerId">, size: number) =>
    (
      await pages((page) => listGroups({ ...deps, reader }, { ownerId, ...filter }, page), size)
    ).map((page) => page.map(({ group }) => versionOf(group)));
  return { stored, reads, list };
}

describe("pages", () => {
  test("have each group that is shown once, newest first, and are full", async () => {
    const filters = fc.record({
      state: fc.constantFrom("UNREAD" as const, "READ" as const, "ALL" as const),
      kinds: fc.subarray([...kinds]),
    });
    const mixed = fc.array(placed, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        mixed,
        filters,
        fc.integer({ min: 1, max: 9 }),
        async (all, filter, size) => {
          const { stored, list } = await setUp(all);
          const isListed = ({ state, kind, isDeleted }: Placed) =>
            !isDeleted &&
            state !== "EXPIRED" &&
            (filter.state === "ALL" || filter.state === state) &&
            (filter.kinds.length === 0 || filter.kinds.includes(kind));
          const expected = stored
            .filter(isListed)
            .map(({ version }) => version)
            .toReversed();
          const found = await list(filter, size);
          expect(found.flat()).toEqual(expected);
          for (const page of found.slice(0, -1)) expect(page).toHaveLength(size);
        },
      ),
      { numRuns: 60, seed: 51 },
    );
  });

  test("do not begin with a cursor of another form, and the refusal names the field", async () => {
    const { deps } = memoryDeps();
    const filter = { ownerId, state: "ALL" as const, kinds: [] };
    await expect(listGroups(deps, filter, { size: 2, cursor: "x" })).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
      message: "page_token does not belong to this list",
    });
  });

  test("end with the last group, not with an empty page", async () => {
    const { list } = await setUp([shown, shown, shown, shown]);
    expect(await list({ state: "READ", kinds: [] }, 2)).toEqual([
      [5, 4],
      [3, 2],
    ]);
    expect(await list({ state: "READ", kinds: [] }, 4)).toEqual([[5, 4, 3, 2]]);
  });

  test("are as long as wanted after a first read that finds nothing to show", async () => {
    const { reads, list } = await setUp([shown, shown, shown, ...Array(20).fill(hidden)]);
    expect(await list({ state: "READ", kinds: [] }, 2)).toEqual([[4, 3], [2]]);
    expect(reads).toEqual([3, 101, 3]);
  });

  test("are short after five reads, with a token that goes on behind the last one", async () => {
    const { reads, list } = await setUp([shown, shown, ...Array(450).fill(hidden), shown]);
    expect(await list({ state: "READ", kinds: [] }, 2)).toEqual([[454], [3, 2]]);
    expect(reads.slice(0, 5)).toEqual([3, 101, 101, 101, 101]);
  });
});
