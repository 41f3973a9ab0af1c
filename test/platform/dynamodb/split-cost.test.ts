/** Tests that a split of a large group costs what its shorter side costs. */
import type { QueryCommandOutput } from "@aws-sdk/client-dynamodb";
import { beforeAll, expect, test } from "vitest";
import { memberQueries } from "../../../src/feed/store/group-members.ts";
import { newTarget, put, range, reaction } from "../../support/fixtures/stored-reactions.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { fill } from "../../support/stores/records.ts";

const target = newTarget();
const memberCount = 5_010;
const { client, itemStore } = createMemoryStore();
let examined = 0;

/** Counts the items that are examined for the queries. */
const counting = {
  async send(command: Parameters<typeof client.send>[0]) {
    const answer = (await client.send(command)) as QueryCommandOutput;
    examined += answer.ScannedCount ?? 0;
    return answer;
  },
};
const members = memberQueries(counting as typeof client, "reactions");

beforeAll(() =>
  fill(
    itemStore,
    range(1, memberCount).map((n) => put(reaction(target, n))),
  ),
);

/** The number of members that is counted up to a version, and the number of examined items. */
async function splitAt(at: number, hasLeavers = false) {
  examined = 0;
  const range = { from: 1, at, to: memberCount };
  const total = hasLeavers ? undefined : memberCount;
  const found = await members.splitMembers({ target, kind: "like" }, range, total);
  const { count, restCount } = found;
  return { count, cost: examined, ...(hasLeavers && { restCount }) };
}

// Of each side a first page of 32 items is read, then pages of 128 and 512. The ends are 7 items.
test.each([
  [10, 10 + 32 + 7],
  [300, 300 + 32 + 128 + 512 + 7],
])("with %i members on either side it examines %i items", async (shorter, cost) => {
  expect(await splitAt(shorter)).toEqual({ count: shorter, cost });
  const at = memberCount - shorter;
  expect(await splitAt(at)).toEqual({ count: at, cost });
});

test("with people who have left a moment ago, both sides are counted to their ends", async () => {
  for (const at of [10, memberCount - 10]) {
    const cost = memberCount + 7;
    expect(await splitAt(at, true)).toEqual({ count: at, restCount: memberCount - at, cost });
  }
});
