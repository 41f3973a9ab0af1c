/** Tests reads ahead of calls: several accounts by one read, and what makes that read too old. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import type { CommitEngine } from "../../../src/platform/engine/engine.ts";
import { accountRef, eventRef } from "../../../src/points/ports/records.ts";
import {
  account,
  answer,
  createAccountFixture,
  done,
  grant,
  programId,
  replayed,
  use,
  userId,
} from "../../support/fixtures/account-fixture.ts";

const userIds = ["u1", "u2", "u3"];

const readAhead = ({ readAhead }: Deps) =>
  readAhead(
    userIds.map((userId) => {
      const key = accountRef(programId, userId);
      return { key, readSet: [key] };
    }),
  );

const grantAll = (deps: Deps, eventId: string) =>
  Promise.all(userIds.map((userId) => answer(grant(deps, eventId, 10, { userId }))));

afterEach(() => {
  vi.useRealTimers();
});

test("calls whose accounts were read ahead need no read", async () => {
  const { deps, process, store } = createAccountFixture();
  await grant(process(), "a", 5, { userId: "u2" });
  store.resetStats();
  await readAhead(deps);
  expect(await grantAll(deps, "b")).toEqual([done(10, 10), done(10, 15), done(10, 10)]);
  expect(store.stats).toMatchObject({ reads: 1, readItems: 3, commits: 3 });
});

test("an account that another process changed meanwhile is decided on as it is now", async () => {
  const { deps, process } = createAccountFixture();
  await readAhead(deps);
  await grant(process(), "a", 5, { userId: "u2" });
  expect(await grantAll(deps, "b")).toEqual([done(10, 10), done(10, 15), done(10, 10)]);
});

test("a refusal is never decided on what was read ahead", async () => {
  const { deps, process } = createAccountFixture();
  await readAhead(deps);
  await grant(process(), "a", 5, { userId: "u2" });
  expect(await answer(use(deps, "b", 4, { userId: "u2" }))).toEqual(done(4, 1));
});

test("a replay whose event key was read ahead costs no write", async () => {
  const { deps, process, store } = createAccountFixture();
  await grant(process(), "a", 10);
  store.resetStats();
  await deps.readAhead([{ key: account, readSet: [account, eventRef(programId, userId, "c:a")] }]);
  expect(await answer(grant(deps, "a", 10))).toEqual(replayed(10, 10));
  expect(store.stats).toMatchObject({ commits: 0 });
});

test("what was read more than a second ago is read again", async () => {
  const { deps, store } = createAccountFixture();
  vi.useFakeTimers({ toFake: ["performance"] });
  await readAhead(deps);
  vi.advanceTimersByTime(1_001);
  await grantAll(deps, "b");
  expect(store.stats).toMatchObject({ reads: 4, commits: 3 });
});

test("without an answer of the store, the calls read for themselves", async () => {
  const { deps, store } = createAccountFixture();
  store.arriving = async ({ op }) => {
    store.arriving = undefined;
    return op === "read" ? "unavailable" : undefined;
  };
  await readAhead(deps);
  expect(await grantAll(deps, "b")).toEqual([done(10, 10), done(10, 10), done(10, 10)]);
});

test("accounts that were read ahead in vain are forgotten", async () => {
  const { deps } = createAccountFixture();
  const engine = deps.engine as CommitEngine;
  vi.useFakeTimers({ toFake: ["performance"] });
  await readAhead(deps);
  expect(engine.keyCount).toBe(3);
  vi.advanceTimersByTime(3_050);
  await grant(deps, "b", 10);
  // A key becomes idle just after its last call has been answered.
  await sleep(5);
  expect(engine.keyCount).toBe(1);
});
