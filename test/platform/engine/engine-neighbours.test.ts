/** Tests that what goes wrong with one call of a key concerns no other call and no other key. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { react } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { CommitEngine } from "../../../src/platform/engine/engine.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import {
  account,
  answer,
  createAccountFixture,
  createGate,
  grant,
} from "../../support/fixtures/account-fixture.ts";
import { memoryDeps, type Request } from "../../support/stores/memory-store.ts";

describe("an error that no code expects", () => {
  const writesReactionTo = (target: string, { op, refs }: Request) =>
    op === "commit" && refs.some(({ kind, id }) => kind === "reaction" && id.startsWith(target));

  /** Two targets of one owner; the store refuses what is written to the first one. */
  async function createTargets(error: Error) {
    const { deps, store } = memoryDeps();
    for (const id of ["full", "other"]) {
      const target = { type: "post", id };
      await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
      await deps.owners.of(target);
    }
    let refused = 0;
    store.latencyMs = 5;
    store.arriving = (request) => {
      if (!writesReactionTo("post#full#", request)) return undefined;
      refused += 1;
      throw error;
    };
    const like = (id: string, userId: string) =>
      react(deps, { target: { type: "post", id }, kind: "like", userId, displayName: userId }).then(
        ({ reactionCount }) => reactionCount,
        (thrown: unknown) => thrown,
      );
    return { deps, store, like, refusedCount: () => refused };
  }

  test("fails the call that caused it; each call of its batch is decided alone once", async () => {
    const error = new Error("Item size has exceeded the maximum allowed size");
    const { store, like, refusedCount } = await createTargets(error);
    store.resetStats();
    const answers = await Promise.all([
      like("other", "a"),
      like("full", "b"),
      like("other", "c"),
      like("full", "d"),
      like("other", "e"),
    ]);
    expect(answers).toEqual([1, error, 2, error, 3]);
    // The first call, the batch of the four others, and each of these alone.
    expect(store.stats.commits).toBe(1 + 1 + 4);
    expect(refusedCount()).toBe(1 + 2);
    // After that, calls share transactions again.
    store.resetStats();
    expect(await Promise.all(["f", "g", "h"].map((each) => like("other", each)))).toEqual([
      4, 5, 6,
    ]);
    expect(store.stats.commits).toBe(2);
  });

  test("is a refusal with the target's name when its reactions fill a partition", async () => {
    const full = new DomainError("LIMIT_EXCEEDED", "the target post full holds at most 10 GB");
    const { like } = await createTargets(full);
    const answers = await Promise.all([like("other", "a"), like("other", "b"), like("full", "c")]);
    expect(answers).toEqual([1, 2, full]);
  });

  test("in a conflict with another process, a call alone is tried again as any other", async () => {
    const error = new Error("unexpected");
    const { store, like } = await createTargets(error);
    const { arriving } = store;
    let conflicts = 0;
    store.arriving = (request) => {
      const isAlone = request.refs.filter(({ kind }) => kind === "reaction").length === 1;
      if (request.op === "commit" && isAlone && conflicts++ === 1) return "conflict";
      return arriving?.(request);
    };
    const answers = await Promise.all([like("other", "a"), like("other", "b"), like("full", "c")]);
    expect(answers).toEqual([1, 2, error]);
    expect(conflicts).toBeGreaterThan(2);
  });
});

test("an error of the clock concerns all calls of a batch, which are not sent again", async () => {
  const { deps, store, clock, coalesced } = createAccountFixture();
  await grant(deps, "warm", 1);
  const off = new DomainError("CLOCK_OFF", "the clock is off", { skew_ms: "6000" });
  const answers = await coalesced(deps, () => {
    const calls = ["a", "b", "c"].map((id) => answer(grant(deps, id, 1)));
    store.answering = () => {
      store.answering = undefined;
      vi.spyOn(clock, "now").mockRejectedValue(off);
    };
    return calls;
  });
  expect(answers).toEqual(Array(3).fill("CLOCK_OFF"));
  expect(clock.now).toHaveBeenCalledTimes(1);
});

test("a queue that a call serves again just after its end is not listed as idle", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  // How many turns of promises the second call comes after the answer of the first one.
  for (let turns = 0; turns < 8; turns++) {
    const { deps, store } = createAccountFixture();
    const engine = deps.engine as CommitEngine;
    const noRead = { key: account, readSet: [], expectAbsent: [account], call: undefined };
    let answered: Promise<unknown> = engine.transact({ ...noRead, decide: () => 1 });
    for (let i = 0; i < turns; i++) answered = answered.then(() => undefined);
    const gate = createGate();
    store.arriving = async ({ refs }) => {
      if (refs.includes(account)) await gate.passed;
      return undefined;
    };
    const second = answered.then(() =>
      engine.transact({ ...noRead, readSet: [account], decide: () => 2 }),
    );
    await sleep(5);
    vi.advanceTimersByTime(3_050);
    await grant(deps, "a", 1, { userId: "other" });
    await sleep(5);
    // Without the queue in the list, a further call would make a second one for the same key.
    expect(engine.keyCount, `${turns} turns`).toBe(2);
    gate.open();
    await second;
  }
  vi.useRealTimers();
});
