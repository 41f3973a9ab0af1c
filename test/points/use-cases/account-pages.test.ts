/** Tests that jobs continue at the right account while others come into being. */
import { expect, test } from "vitest";
import { accountRef } from "../../../src/points/ports/records.ts";
import { accountPages } from "../../../src/points/use-cases/jobs/account-pages.ts";
import { account } from "../../support/fixtures/stored-points.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { fill, write } from "../../support/stores/records.ts";

const segment = { segment: 0, segments: 1 };

test("a cursor leads to its account when new accounts have moved the end of its page", async () => {
  const { itemStore, reader } = createMemoryStore();
  const add = (prefix: string, count: number) =>
    fill(
      itemStore,
      Array.from({ length: count }, (_, i) => `${prefix}-${i}`).map((userId) =>
        write(accountRef("p", userId), account("p", userId, { last: 1, time: 1 })),
      ),
    );
  const pages = () => accountPages<string>({ reader }, "p", segment);
  await add("u", 1_200);
  const before = await pages()(undefined);
  const last = before.accounts.length - 1;
  const cursor = before.cursorOf(last, "half");
  await add("new", 300);
  const after = await pages()(cursor);
  expect([after.accounts[0]?.userId, after.progress]).toEqual([
    before.accounts[last]?.userId,
    "half",
  ]);
});
