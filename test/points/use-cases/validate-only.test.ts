/** Tests how the engine proves the answer of a change that is only validated. */
import { expect, test } from "vitest";
import {
  account,
  answer,
  balance,
  createAccountFixture,
  done,
  grant,
  kinds,
  replayed,
  use,
} from "../../support/fixtures/account-fixture.ts";
import type { Request } from "../../support/stores/memory-store.ts";

const validateOnly = true;

test("one atomic read of the account and the event key proves the answer", async () => {
  const { deps, store } = createAccountFixture();
  await grant(deps, "g", 10);
  const requests: string[] = [];
  store.answering = (request: Request) => void requests.push(`${request.op} ${kinds(request)}`);
  expect(await answer(use(deps, "u", 4, { validateOnly }))).toEqual(done(4, 6));
  expect(requests).toEqual(["read event+account"]);
});

test("a validated change leaves nothing behind that a later call meets", async () => {
  const { deps, store } = createAccountFixture();
  await grant(deps, "g", 10);
  const before = store.dump();
  for (const each of [deps, deps]) {
    expect(await answer(use(each, "u", 10, { validateOnly }))).toEqual(done(10, 0));
  }
  expect(store.dump()).toEqual(before);
  store.resetStats();
  expect(await answer(use(deps, "u", 10))).toEqual(done(10, 0));
  expect(store.stats).toMatchObject({ commits: 1, writtenItems: 3 });
  expect(await answer(use(deps, "u", 10, { validateOnly }))).toEqual(replayed(10, 0));
});

test("in a batch it sees the writes before it, and the calls behind see none of it", async () => {
  const { deps, coalesced, stored } = createAccountFixture();
  const answers = await coalesced(deps, () => [
    answer(grant(deps, "a", 10)),
    answer(use(deps, "b", 8, { validateOnly })),
    answer(use(deps, "c", 9)),
    answer(use(deps, "d", 3, { validateOnly })),
  ]);
  // The fixture's own grant of 1 point is ahead of them.
  expect(answers).toEqual([done(10, 11), done(8, 3), done(9, 2), "INSUFFICIENT_POINTS"]);
  expect(await balance(deps)).toBe(2);
  expect(await stored()).toMatchObject({ last: 3 });
});

test("an answer that rests on a call whose commit fails is decided again", async () => {
  const { deps, store, coalesced, process } = createAccountFixture();
  const other = process();
  const answers = await coalesced(deps, () => {
    store.arriving = async ({ op }) => {
      if (op !== "commit") return undefined;
      store.arriving = undefined;
      await use(other, "elsewhere", 1);
      return undefined;
    };
    return [answer(grant(deps, "a", 10)), answer(use(deps, "b", 11, { validateOnly }))];
  });
  expect(answers).toEqual([done(10, 10), "INSUFFICIENT_POINTS"]);
  expect((await deps.reader.get(account))?.value.last).toBe(3);
});
