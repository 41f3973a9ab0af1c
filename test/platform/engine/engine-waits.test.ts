/**
 * Tests the commit engine on a store that is slow, contended, silent or ambiguous: `contention.ts`,
 * `store-requests.ts` and `retry-budget.ts`. Timers are faked, so that durations are exact, however
 * slow the machine is.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { failingSoon } from "../../../src/platform/work/failing-soon.ts";
import {
  accountFixturesIn,
  answer,
  balance,
  createAccountFixture,
  createGate,
  differences,
  done,
  grant,
  isolations,
  kinds,
  refund,
  replayed,
  textOf,
  use,
} from "../../support/fixtures/account-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";
import { randomFrom } from "../../support/models/random.ts";
import type { Fault, Request } from "../../support/stores/memory-store.ts";

/** The pauses of the engine in milliseconds; emptied before each test. */
const pauses = vi.hoisted((): number[] => []);

// The engine's pauses use the global timers, which are faked, and are recorded.
vi.mock("node:timers/promises", () => ({
  setTimeout(ms: number) {
    pauses.push(ms);
    return new Promise<void>((resolve) => setTimeout(resolve, ms));
  },
}));

beforeEach(() => {
  pauses.length = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The answer of a call, and its duration in milliseconds. */
async function timed(call: () => ReturnType<typeof grant>) {
  const start = performance.now();
  let ms = Number.NaN;
  const answering = answer(call()).finally(() => {
    ms = performance.now() - start;
  });
  return { answered: await settled(answering), ms };
}

const within = (ms: number) => ({ deadline: performance.now() + ms });

/** Faults for the next commits, one after another; none after the last one. */
function faultsOnCommit(faults: readonly (Fault | undefined)[], sent: Request[] = []) {
  const left = [...faults];
  return (request: Request) => {
    if (request.op !== "commit") return undefined;
    sent.push(request);
    return left.shift();
  };
}

describe("version conflicts", () => {
  test("the backoff after a conflict is about one commit and does not grow", async () => {
    const { deps, store } = createAccountFixture(12, () => 0.9);
    await grant(deps, "warm", 1);
    store.arriving = faultsOnCommit(Array<Fault>(30).fill("conflict"));
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(done(1, 2));
    // One for each conflict, and the turn that the key skips after its commit.
    expect(pauses).toHaveLength(31);
    // 2 × commit × 0.9, where a commit is assumed to take 10 ms before the first one.
    for (const pause of pauses.slice(0, 30)) expect(pause).toBeCloseTo(2 * 0.9 * 10 * (15 / 16));
  });

  test("on a contended key a commit skips the next turn and empties the cache", async () => {
    const { deps, store } = createAccountFixture(12, () => 0.5);
    store.latencyMs = 20;
    for (let i = 0; i < 20; i++) await settled(grant(deps, `warm${i}`, 1));
    const ops: string[] = [];
    const pausesBefore: number[] = [];
    store.arriving = ({ op, refs }) => {
      if (refs.some(({ kind }) => kind === "program")) return undefined;
      ops.push(op);
      pausesBefore.push(pauses.length);
      return ops.length === 1 && pauses.length === 0 ? "conflict" : undefined;
    };
    for (const id of ["a", "b"]) await settled(grant(deps, id, 1));
    // The conflict, and then a read before each commit.
    expect(ops).toEqual(["commit", "read", "commit", "read", "commit"]);
    // One pause for the conflict, and one for the turn that "a" skips.
    expect(pausesBefore).toEqual([0, 1, 1, 2, 2]);
    // A commit takes 20 ms, which the average approaches; a turn takes 3 to 7 commits.
    expect(pauses[0]).toBeGreaterThan(15);
    expect(pauses[0]).toBeLessThanOrEqual(20);
    expect(pauses[1]).toBeGreaterThan(75);
    expect(pauses[1]).toBeLessThanOrEqual(100);
    await vi.advanceTimersByTimeAsync(3_050);
    ops.length = 0;
    for (const id of ["c", "d"]) await settled(grant(deps, id, 1));
    // After three seconds without a conflict the key is not contended any more.
    expect(ops).toEqual(["read", "commit", "commit"]);
  });

  test("the records of a contended key are read first, and calls coalesce meanwhile", async () => {
    const { deps, store } = createAccountFixture(12, () => 0.5);
    await settled(grant(deps, "warm", 1));
    const sent: Request[] = [];
    const faults: (Fault | undefined)[] = ["conflict", "conflict", "conflict"];
    store.arriving = (request) => {
      sent.push(request);
      return faults.shift();
    };
    const calls = Array.from({ length: 10 }, (_, i) => answer(grant(deps, `g${i}`, 1)));
    expect(await settled(Promise.all(calls))).toHaveLength(10);
    // One cancelled transaction, two rejected reads, one read, one committed transaction.
    expect(sent.map(({ op }) => op)).toEqual(["commit", "read", "read", "read", "commit"]);
    expect(sent.at(-1)?.writes).toHaveLength(21);
    expect(await differences(deps)).toEqual([]);
  });

  test("after eight rejected reads a batch goes out without one", async () => {
    const { deps, store } = createAccountFixture();
    await settled(grant(deps, "warm", 1));
    const ops: string[] = [];
    const faults: (Fault | undefined)[] = Array(9).fill("conflict");
    store.arriving = ({ op }) => {
      ops.push(op);
      return faults.shift();
    };
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(done(1, 2));
    expect(ops).toEqual(["commit", ...Array(8).fill("read"), "read", "commit"]);
  });

  test("CONTENDED after five seconds", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    store.arriving = ({ op }) => (op === "commit" ? "conflict" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1));
    expect(answered).toBe("CONTENDED");
    expect(ms).toBe(5_000);
    store.arriving = undefined;
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(done(1, 2));
  });

  test("CONTENDED when its own deadline comes first, DEADLINE without a turn", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    store.arriving = ({ op }) => (op === "commit" ? "conflict" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1, within(300)));
    expect(answered).toBe("CONTENDED");
    expect(ms).toBe(300);
    expect(await settled(answer(grant(deps, "b", 1, { deadline: performance.now() - 1 })))).toBe(
      "DEADLINE",
    );
    store.arriving = undefined;
    expect(await settled(answer(grant(deps, "b", 1, within(300))))).toEqual(done(1, 2));
  });

  test("a deadline that passes in the queue is answered in time, the call is dropped", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    const gate = createGate();
    store.arriving = async () => {
      gate.reach();
      await gate.passed;
      return undefined;
    };
    const first = grant(deps, "a", 1);
    await gate.reached;
    const waiting = [within(60), within(200)];
    const answers = await Promise.all(
      waiting.map((each) => timed(() => grant(deps, "b", 10, each))),
    );
    // A request may take 100 ms; a longer one is why the second call has had no turn.
    expect(answers).toEqual([
      { answered: "DEADLINE", ms: 60 },
      { answered: "STORE_UNAVAILABLE", ms: 200 },
    ]);
    const patient = grant(deps, "c", 100);
    gate.open();
    await settled(Promise.all([first, patient]));
    expect(await balance(deps)).toBe(102);
    expect(await differences(deps)).toEqual([]);
  });

  test("when the store serves again, conflicts are CONTENDED again", async () => {
    const { deps, store } = createAccountFixture();
    store.arriving = faultsOnCommit([
      "throttled",
      undefined,
      ...Array<Fault>(500).fill("conflict"),
    ]);
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(done(1, 1));
    expect(await settled(answer(grant(deps, "b", 1, within(200))))).toBe("CONTENDED");
  });
});

describe("a store that is unavailable", () => {
  test("STORE_UNAVAILABLE after five seconds without a read", async () => {
    const { deps, store } = createAccountFixture();
    store.arriving = () => "unavailable";
    const { answered, ms } = await timed(() => grant(deps, "a", 1));
    expect(answered).toBe("STORE_UNAVAILABLE");
    expect(ms).toBe(5_000);
    store.arriving = undefined;
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(done(1, 1));
  });

  test("silence counts from the first request without an answer, and ends with one", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    const gates = [createGate(), createGate()];
    const left = [...gates];
    store.arriving = async ({ op }) => {
      if (op === "commit") await left.shift()?.passed;
      return undefined;
    };
    const start = performance.now();
    const call = async (id: string) => [
      await answer(grant(deps, id, 1, within(10_000))),
      performance.now() - start,
    ];
    const first = call("a");
    await vi.advanceTimersByTimeAsync(2_000);
    const second = call("b");
    gates[0]?.open();
    await vi.advanceTimersByTimeAsync(1_000);
    // It comes a second after the store has become silent again, and waits as long as the others.
    const third = call("c");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all([first, second, third])).toEqual([
      [done(1, 2), 2_000],
      ["STORE_UNAVAILABLE", 2_000 + 2_750],
      ["STORE_UNAVAILABLE", 3_000 + 2_750],
    ]);
    gates[1]?.open();
    expect(await settled(answer(grant(deps, "b", 1)))).toEqual(replayed(1, 3));
    // It was dropped: its caller had given up before it had a turn.
    expect(await settled(answer(grant(deps, "c", 1)))).toEqual(done(1, 4));
    expect(await differences(deps)).toEqual([]);
  });

  test("a store that never answers keeps no call", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    const gate = createGate();
    store.arriving = async ({ op }) => {
      if (op === "commit") await gate.passed;
      return undefined;
    };
    const calls = [
      timed(() => grant(deps, "a", 1, within(10_000))),
      timed(() => grant(deps, "b", 1, within(1_500))),
      timed(() => grant(deps, "c", 1)),
    ];
    expect(await Promise.all(calls)).toEqual([
      { answered: "STORE_UNAVAILABLE", ms: 2_750 },
      { answered: "STORE_UNAVAILABLE", ms: 1_500 },
      // A worker has no deadline, and waits longer.
      { answered: "STORE_UNAVAILABLE", ms: 5_000 },
    ]);
    gate.open();
    // The commit that was under way succeeds, so the same call is replayed, the others are not.
    expect(await settled(answer(grant(deps, "a", 1)))).toEqual(replayed(1, 2));
    expect(await settled(answer(grant(deps, "c", 1)))).toEqual(done(1, 3));
    expect(await differences(deps)).toEqual([]);
  });
});

describe("throttling", () => {
  const userIds = Array.from({ length: 50 }, (_, i) => `u${i}`);

  /** Grants on each of 50 cached accounts, and returns answers, times and the duration. */
  async function grantAll(throttledMs: number) {
    const { deps, store } = createAccountFixture(12, randomFrom(20_261_123));
    store.latencyMs = 5;
    await settled(Promise.all(userIds.map((userId) => grant(deps, "warm", 1, { userId }))));
    store.resetStats();
    const start = performance.now();
    const times: number[] = [];
    store.arriving = (request) => {
      if (kinds(request) === "program") return undefined;
      times.push(performance.now() - start);
      return performance.now() < start + throttledMs ? "throttled" : undefined;
    };
    const calls = userIds.map((userId) => timed(() => grant(deps, "a", 1, { userId })));
    const answers = await settled(Promise.all(calls));
    return { answers, times, ms: Math.max(...answers.map(({ ms }) => ms)) };
  }

  test("a store that throttles everything gets a few requests a call, ever fewer", async () => {
    const { answers, times } = await grantAll(5_000);
    for (const each of answers) expect(each).toEqual({ answered: "THROTTLED", ms: 5_000 });
    expect(times.length).toBeLessThanOrEqual(10 * userIds.length);
    const within = (from: number, to: number) =>
      times.filter((time) => time >= from && time < to).length;
    expect(within(0, 100)).toBeGreaterThan(userIds.length);
    // The budget of the process is spent: twenty retries a second are left.
    expect(within(4_000, 5_000)).toBeLessThanOrEqual(21);
  });

  test("when it ends, the first calls that succeed release the others", async () => {
    const { ms: without } = await grantAll(0);
    const { answers, ms } = await grantAll(3_000);
    for (const { answered } of answers) expect(answered).toEqual(done(1, 2));
    expect(without).toBe(5);
    // Up to 50 ms until a retry is free, then twice as many each time.
    expect(ms - 3_000).toBeLessThan(150);
  });

  test("a single throttled account does not delay others", async () => {
    const { deps, store } = createAccountFixture();
    store.latencyMs = 5;
    const [hot, cold] = ["hot", "cold"];
    store.arriving = ({ op, refs }) =>
      op === "commit" && refs[0]?.id.endsWith(hot) ? "throttled" : undefined;
    const throttled = timed(() => grant(deps, "a", 1, { userId: hot, ...within(2_000) }));
    for (let i = 0; i < 20; i++) {
      const { answered, ms } = await timed(() => grant(deps, `${i}`, 1, { userId: cold }));
      expect(answered).toEqual(done(1, i + 1));
      expect(ms).toBeLessThanOrEqual(20);
    }
    expect((await throttled).answered).toBe("THROTTLED");
  });

  test.each<[string, (request: Request) => Fault | undefined, string]>([
    ["of writes", ({ op }) => (op === "commit" ? "throttled" : undefined), "THROTTLED"],
    ["of reads", ({ op }) => (op === "read" ? "throttled" : undefined), "THROTTLED"],
    ["of a request whose answer is lost", () => "lost before", "STORE_UNAVAILABLE"],
  ])("%s: the reason tells it from a store that is away", async (_, arriving, reason) => {
    const { deps, store } = createAccountFixture();
    store.arriving = arriving;
    const { answered, ms } = await timed(() => grant(deps, "a", 1, within(300)));
    expect({ answered, ms }).toEqual({ answered: reason, ms: 300 });
  });

  test("a slow answer that throttles is an answer: the store is not silent", async () => {
    const { deps, store } = createAccountFixture();
    store.latencyMs = 700;
    store.arriving = ({ op }) => (op === "read" ? "throttled" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1, within(4_000)));
    expect({ answered, ms }).toEqual({ answered: "THROTTLED", ms: 4_000 });
  });

  test("ends a call soon that fails soon, and no other call of its key", async () => {
    const { deps, store } = createAccountFixture();
    await grant(deps, "warm", 1);
    const start = performance.now();
    store.arriving = ({ op }) =>
      op === "commit" && performance.now() < start + 1_000 ? "throttled" : undefined;
    const soon = timed(() => grant(failingSoon(deps), "a", 1));
    const patient = timed(() => grant(deps, "b", 1));
    expect(await soon).toEqual({ answered: "THROTTLED", ms: 150 });
    expect((await patient).answered).toEqual(done(1, 2));
    expect(await differences(deps)).toEqual([]);
    // Without throttling it waits as long as any other call.
    store.arriving = ({ op }) => (op === "commit" ? "conflict" : undefined);
    expect(await timed(() => grant(failingSoon(deps), "c", 1))).toEqual({
      answered: "CONTENDED",
      ms: 5_000,
    });
  });
});

// Only these tests run in both isolations; the others are about times and request counts.
describe.each(isolations)("ambiguous results, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test.each<[string, Fault[]]>([
    ["after the commit", ["lost after", "lost before", "lost after"]],
    ["before the commit", ["lost before", "lost before"]],
    ["then throttled", ["lost after", "throttled", "throttled"]],
    ["then in conflict", ["lost after", "conflict", "throttled", "lost before"]],
    ["before the commit, then in conflict", ["lost before", "conflict"]],
  ])("%s: the identical transaction under the same token", async (_, faults) => {
    const { deps, store } = createFixture();
    await settled(grant(deps, "warm", 1));
    const sent: Request[] = [];
    store.arriving = faultsOnCommit(faults, sent);
    expect(await settled(answer(use(deps, "a", 1)))).toEqual(done(1, 0));
    expect(sent).toHaveLength(faults.length + 1);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(1);
    expect(new Set(sent.map(({ writes }) => textOf(writes))).size).toBe(1);
    expect(await differences(deps)).toEqual([]);
  });

  test("each transaction has a token of its own", async () => {
    const { deps, store } = createFixture();
    const sent: Request[] = [];
    store.arriving = faultsOnCommit(["conflict", "throttled", "lost before"], sent);
    await settled(grant(deps, "a", 1));
    await settled(grant(deps, "b", 1));
    expect(sent.map(({ token }) => token)).toHaveLength(5);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(4);
  });

  test("another process may change the account before the retry", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    await settled(grant(deps, "g", 10));
    store.arriving = faultsOnCommit(["lost after"]);
    // It is committed, its answer is lost, and then another process uses the account.
    store.answering = async () => {
      store.answering = undefined;
      await use(other, "b", 6);
    };
    expect(await settled(answer(use(deps, "a", 4)))).toEqual(done(4, 6));
    expect(await balance(deps)).toBe(0);
    expect(await differences(deps)).toEqual([]);
  });

  test("one that stays ambiguous is STORE_UNAVAILABLE, and its retry is replayed", async () => {
    const { deps, store } = createFixture();
    await settled(grant(deps, "g", 10));
    const sent: Request[] = [];
    store.arriving = (request) => {
      if (request.op === "read") return undefined;
      sent.push(request);
      return "lost after";
    };
    const { answered, ms } = await timed(() => use(deps, "a", 10));
    expect(answered).toBe("STORE_UNAVAILABLE");
    expect(ms).toBe(5_000);
    await vi.advanceTimersByTimeAsync(50);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(1);
    store.arriving = undefined;
    store.resetStats();
    expect(await settled(answer(use(deps, "a", 10)))).toEqual(replayed(10, 0));
    // The cache is empty, so account and event key are read.
    expect(store.stats.reads).toBe(2);
    expect(await differences(deps)).toEqual([]);
  });

  test("a process that was stopped does not send the transaction again", async () => {
    const { deps, store, stored } = createAccountFixture();
    const sent: Request[] = [];
    const faults = faultsOnCommit(["lost before"], sent);
    store.arriving = (request) => {
      const fault = faults(request);
      if (fault) {
        // The clock has gone on when the process does, but no timer has run yet.
        const stopped = performance.now() + 60_000;
        vi.spyOn(performance, "now").mockImplementation(() => stopped);
      }
      return fault;
    };
    expect(await settled(answer(grant(deps, "a", 1)))).toBe("STORE_UNAVAILABLE");
    vi.mocked(performance.now).mockRestore();
    expect(sent).toHaveLength(1);
    expect(await stored()).toBeUndefined();
  });

  test("an ambiguous result and then a failed condition", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    await settled(grant(deps, "g", 10));
    let isFirst = true;
    store.arriving = async ({ op }) => {
      if (op !== "commit" || !isFirst) return undefined;
      isFirst = false;
      // The request is lost, and another process uses the points.
      await use(other, "b", 7);
      return "lost before";
    };
    expect(await settled(answer(use(deps, "a", 4)))).toBe("INSUFFICIENT_POINTS");
    expect(await settled(answer(refund(deps, "r", "b")))).toEqual(done(7, 10));
    expect(await settled(answer(use(deps, "a", 4)))).toEqual(done(4, 6));
    expect(await differences(deps)).toEqual([]);
  });
});
