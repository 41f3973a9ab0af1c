/** The commit engine when the store is slow, contended, silent or unclear. Times are real. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Fault, Request } from "../support/memory-store.ts";
import {
  answer,
  balance,
  createGate,
  createWorld,
  differences,
  done,
  grant,
  refund,
  replayed,
  textOf,
  use,
} from "./world.ts";

/** What a call answers, and how long it took in milliseconds. */
async function timed(call: () => ReturnType<typeof grant>) {
  const start = performance.now();
  return { answered: await answer(call()), ms: performance.now() - start };
}

const within = (ms: number) => ({ deadline: performance.now() + ms });

/** Faults for the commits to come, one after another; none once they are used up. */
function faultsOnCommit(faults: readonly (Fault | undefined)[], sent: Request[] = []) {
  const left = [...faults];
  return (request: Request) => {
    if (request.op !== "commit") return undefined;
    sent.push(request);
    return left.shift();
  };
}

describe.concurrent("lost races", () => {
  test("the wait of a loser is about one commit and does not grow", async () => {
    const { deps, store } = createWorld(12, () => 0.9);
    await grant(deps, "warm", 1);
    const times: number[] = [];
    store.arriving = ({ op }) => {
      if (op !== "commit") return undefined;
      times.push(performance.now());
      return times.length <= 30 ? "conflict" : undefined;
    };
    expect(await answer(grant(deps, "a", 1))).toEqual(done(1, 2));
    const gaps = times.slice(1).map((time, i) => time - (times[i] as number));
    const mean = (some: number[]) => some.reduce((sum, gap) => sum + gap, 0) / some.length;
    expect(gaps).toHaveLength(30);
    // 2 × commit × 0.9, where a commit was taken to last 10 ms before the first one was seen.
    expect(mean(gaps)).toBeLessThan(40);
    expect(mean(gaps.slice(-10))).toBeLessThan(mean(gaps.slice(0, 10)) + 10);
  });

  test("a winner that met others lets one turn pass and forgets what it knew", async () => {
    const { deps, store } = createWorld(12, () => 0);
    store.latencyMs = 20;
    for (let i = 0; i < 20; i++) await grant(deps, `warm${i}`, 1);
    const ops: string[] = [];
    const times: number[] = [];
    store.arriving = ({ op }) => {
      ops.push(op);
      times.push(performance.now());
      return ops.length === 1 ? "conflict" : undefined;
    };
    let queued: Promise<unknown> | undefined;
    store.answering = ({ op }) => {
      if (op === "commit") queued ??= grant(deps, "b", 1);
    };
    await grant(deps, "a", 1);
    await queued;
    await grant(deps, "c", 1);
    // The conflict, reload and commit of "a"; "b" starts from a read; for "c" all is as ever.
    expect(ops).toEqual(["commit", "read", "commit", "read", "commit", "commit"]);
    const pause = (times[3] as number) - (times[2] as number) - store.latencyMs;
    expect(pause).toBeGreaterThan(10);
    expect(pause).toBeLessThan(500);
  });

  test("CONTENDED after five seconds", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    store.arriving = ({ op }) => (op === "commit" ? "conflict" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1));
    expect(answered).toBe("CONTENDED");
    expect(ms).toBeGreaterThan(4_950);
    expect(ms).toBeLessThan(5_600);
    store.arriving = undefined;
    expect(await answer(grant(deps, "a", 1))).toEqual(done(1, 2));
  });

  test("CONTENDED when its own deadline comes first, DEADLINE without a turn", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    store.arriving = ({ op }) => (op === "commit" ? "conflict" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1, within(300)));
    expect(answered).toBe("CONTENDED");
    expect(ms).toBeLessThan(700);
    expect(await answer(grant(deps, "b", 1, { deadline: performance.now() - 1 }))).toBe("DEADLINE");
    store.arriving = undefined;
    expect(await answer(grant(deps, "b", 1, within(300)))).toEqual(done(1, 2));
  });

  test("a deadline that passes in the queue is told in time, and the call is dropped", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    const gate = createGate();
    store.arriving = async () => {
      gate.reach();
      await gate.passed;
      return undefined;
    };
    const first = grant(deps, "a", 1);
    await gate.reached;
    const { answered, ms } = await timed(() => grant(deps, "b", 10, within(200)));
    expect(answered).toBe("DEADLINE");
    expect(ms).toBeLessThan(600);
    const patient = grant(deps, "c", 100);
    gate.open();
    await Promise.all([first, patient]);
    expect(await balance(deps)).toBe(102);
    expect(await differences(deps)).toEqual([]);
  });

  test("an account that wins back from an outage says CONTENDED again", async () => {
    const { deps, store } = createWorld();
    store.arriving = faultsOnCommit([
      "throttled",
      undefined,
      ...Array<Fault>(500).fill("conflict"),
    ]);
    expect(await answer(grant(deps, "a", 1))).toEqual(done(1, 1));
    expect(await answer(grant(deps, "b", 1, within(200)))).toBe("CONTENDED");
  });
});

describe.concurrent("a store that is not there", () => {
  test("STORE_UNAVAILABLE after five seconds without a read", async () => {
    const { deps, store } = createWorld();
    store.arriving = () => "unavailable";
    const { answered, ms } = await timed(() => grant(deps, "a", 1));
    expect(answered).toBe("STORE_UNAVAILABLE");
    expect(ms).toBeGreaterThan(4_950);
    expect(ms).toBeLessThan(5_600);
    store.arriving = undefined;
    expect(await answer(grant(deps, "a", 1))).toEqual(done(1, 1));
  });

  test("STORE_UNAVAILABLE when it takes no writes", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    store.arriving = ({ op }) => (op === "commit" ? "throttled" : undefined);
    const { answered, ms } = await timed(() => grant(deps, "a", 1, within(300)));
    expect(answered).toBe("STORE_UNAVAILABLE");
    expect(ms).toBeLessThan(700);
  });

  test("a store that never answers keeps nobody", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    const gate = createGate();
    store.arriving = async ({ op }) => {
      if (op === "commit") await gate.passed;
      return undefined;
    };
    const calls = [
      timed(() => grant(deps, "a", 1)),
      timed(() => grant(deps, "b", 1, within(1_500))),
      timed(() => grant(deps, "c", 1)),
    ];
    const [a, b, c] = await Promise.all(calls);
    expect(a?.answered).toBe("STORE_UNAVAILABLE");
    expect(b?.answered).toBe("DEADLINE");
    expect(c?.answered).toBe("STORE_UNAVAILABLE");
    for (const { ms } of [a, c] as { ms: number }[]) expect(ms).toBeLessThan(5_600);
    expect(b?.ms).toBeLessThan(2_000);
    gate.open();
    // What was on its way may have come through: the same call then is a replay, the others not.
    expect(await answer(grant(deps, "a", 1))).toEqual(replayed(1, 2));
    expect(await answer(grant(deps, "c", 1))).toEqual(done(1, 3));
    expect(await differences(deps)).toEqual([]);
  });
});

describe.concurrent("lost answers", () => {
  test.each<[string, Fault[]]>([
    ["after the commit", ["lost after", "lost before", "lost after"]],
    ["before the commit", ["lost before", "lost before"]],
    ["then throttled", ["lost after", "throttled", "throttled"]],
    ["then in conflict", ["lost after", "conflict", "throttled", "lost before"]],
    ["before the commit, then in conflict", ["lost before", "conflict"]],
  ])("%s: the identical transaction under the same token", async (_, faults) => {
    const { deps, store } = createWorld();
    await grant(deps, "warm", 1);
    const sent: Request[] = [];
    store.arriving = faultsOnCommit(faults, sent);
    expect(await answer(use(deps, "a", 1))).toEqual(done(1, 0));
    expect(sent).toHaveLength(faults.length + 1);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(1);
    expect(new Set(sent.map(({ writes }) => textOf(writes))).size).toBe(1);
    expect(await differences(deps)).toEqual([]);
  });

  test("each transaction has a token of its own", async () => {
    const { deps, store } = createWorld();
    const sent: Request[] = [];
    store.arriving = faultsOnCommit(["conflict", "throttled", "lost before"], sent);
    await grant(deps, "a", 1);
    await grant(deps, "b", 1);
    expect(sent.map(({ token }) => token)).toHaveLength(5);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(4);
  });

  test("another process may go on meanwhile", async () => {
    const { deps, process, store } = createWorld();
    const other = process();
    await grant(deps, "g", 10);
    store.arriving = faultsOnCommit(["lost after"]);
    // It is committed, the answer is lost, and then others use the account.
    store.answering = async () => {
      store.answering = undefined;
      await use(other, "b", 6);
    };
    expect(await answer(use(deps, "a", 4))).toEqual(done(4, 6));
    expect(await balance(deps)).toBe(0);
    expect(await differences(deps)).toEqual([]);
  });

  test("one that stays lost is STORE_UNAVAILABLE, and its retry a replay", async () => {
    const { deps, store } = createWorld();
    await grant(deps, "g", 10);
    const sent: Request[] = [];
    store.arriving = (request) => {
      if (request.op === "read") return undefined;
      sent.push(request);
      return "lost after";
    };
    const { answered, ms } = await timed(() => use(deps, "a", 10));
    expect(answered).toBe("STORE_UNAVAILABLE");
    expect(ms).toBeLessThan(5_600);
    await sleep(50);
    expect(new Set(sent.map(({ token }) => token)).size).toBe(1);
    store.arriving = undefined;
    store.resetStats();
    expect(await answer(use(deps, "a", 10))).toEqual(replayed(10, 0));
    // The cached state is gone: account, own key.
    expect(store.stats.reads).toBe(2);
    expect(await differences(deps)).toEqual([]);
  });

  test("a lost answer and a failed condition", async () => {
    const { deps, process, store } = createWorld();
    const other = process();
    await grant(deps, "g", 10);
    let isFirst = true;
    store.arriving = async ({ op }) => {
      if (op !== "commit" || !isFirst) return undefined;
      isFirst = false;
      // It never arrives, and meanwhile another takes the points.
      await use(other, "b", 7);
      return "lost before";
    };
    expect(await answer(use(deps, "a", 4))).toBe("INSUFFICIENT_POINTS");
    expect(await answer(refund(deps, "r", "b"))).toEqual(done(7, 10));
    expect(await answer(use(deps, "a", 4))).toEqual(done(4, 6));
    expect(await differences(deps)).toEqual([]);
  });
});
