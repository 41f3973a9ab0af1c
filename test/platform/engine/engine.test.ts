/** Tests the commit engine on the store in memory: coalescing, answers, cache and costs. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { entryRef, eventRef } from "../../../src/points/ports/records.ts";
import type { Account } from "../../../src/points/rules/account.ts";
import { pack } from "../../../src/points/store/codecs/points.ts";
import { freezeAccount, unfreezeAccount } from "../../../src/points/use-cases/commands.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import {
  account,
  accountFixturesIn,
  answer,
  balance,
  createAccountFixture,
  differences,
  done,
  grant,
  isolations,
  kinds,
  programId,
  refund,
  replayed,
  revoke,
  use,
  userId,
} from "../../support/fixtures/account-fixture.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Fakes the time, which passes only when it is advanced. Pauses of the test itself stay real. */
const holdTime = () => vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });

describe.each(isolations)("request coalescing, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test("calls that wait for one account share a transaction", async () => {
    const { deps, store, coalesced } = createFixture();
    const answers = await coalesced(deps, () => [
      answer(grant(deps, "a", 10)),
      answer(use(deps, "b", 4)),
      answer(grant(deps, "c", 5)),
      answer(use(deps, "d", 12)),
    ]);
    expect(answers).toEqual([done(10, 11), done(4, 7), done(5, 12), done(12, 0)]);
    expect(store.stats).toMatchObject({ reads: 0, commits: 1, writtenItems: 9 });
    expect(await differences(deps)).toEqual([]);
  });

  test("two calls with one id are one call with two answers", async () => {
    const { deps, store, coalesced, stored } = createFixture();
    const answers = await coalesced(deps, () => [
      answer(grant(deps, "a", 10)),
      answer(grant(deps, "a", 10)),
      answer(grant(deps, "a", 11)),
    ]);
    expect(answers).toEqual([done(10, 11), replayed(10, 11), "ID_REUSED"]);
    expect(store.stats).toMatchObject({ reads: 0, commits: 1, writtenItems: 3 });
    expect((await stored())?.last).toBe(2);
  });

  test("two calls with one id are answered after their commit", async () => {
    const { deps, store, coalesced } = createFixture();
    const events: string[] = [];
    await coalesced(deps, () => {
      store.answering = async ({ op }) => {
        if (op !== "commit") return;
        await sleep(20);
        events.push("committed");
      };
      return ["one", "two"].map((name) => grant(deps, "a", 10).then(() => void events.push(name)));
    });
    // The commit ahead of them comes first, then theirs.
    expect(events).toEqual(["committed", "committed", "one", "two"]);
  });

  test("the next batch is sent before the answers of the last one are delivered", async () => {
    const { deps, store } = createFixture();
    const seen: string[] = [];
    let waiting: Promise<unknown> | undefined;
    store.arriving = async ({ op }) => {
      if (op !== "commit") return undefined;
      seen.push("sent");
      waiting ??= grant(deps, "b", 1);
      // A use case reads its program before it calls the engine.
      await sleep(5);
      return undefined;
    };
    await grant(deps, "a", 1);
    seen.push("answered");
    await waiting;
    expect(seen).toEqual(["sent", "sent", "answered"]);
  });

  test("callers that send again and again are served by batches of one size", async () => {
    const { deps, store } = createFixture();
    store.latencyMs = 2;
    const sizes: number[] = [];
    store.arriving = async ({ op, writes }) => {
      if (op === "commit") sizes.push(writes.filter(({ ref }) => ref.kind === "entry").length);
      return undefined;
    };
    const callers = Array.from({ length: 40 }, async (_, caller) => {
      for (let i = 0; i < 10; i++) await grant(deps, `${caller}-${i}`, 1);
    });
    await Promise.all(callers);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(400);
    const steady = sizes.slice(6, -3);
    expect(steady.length).toBeGreaterThan(8);
    for (const size of steady) expect(size, String(sizes)).toBeLessThanOrEqual(24);
  });

  test("two refunds of one use see each other", async () => {
    const { deps, coalesced } = createFixture();
    await grant(deps, "g", 100);
    await use(deps, "u", 100);
    const answers = await coalesced(deps, () => [
      answer(refund(deps, "r1", "u", 60)),
      answer(refund(deps, "r2", "u", 60)),
      answer(refund(deps, "r3", "u")),
      answer(refund(deps, "r4", "u")),
    ]);
    expect(answers).toEqual([done(60, 61), "LIMIT_EXCEEDED", done(40, 101), "LIMIT_EXCEEDED"]);
    expect(await differences(deps)).toEqual([]);
  });

  test("a use and its refund in one batch", async () => {
    const { deps, coalesced, store } = createFixture();
    await grant(deps, "g", 100);
    const answers = await coalesced(deps, () => [
      answer(use(deps, "u", 30)),
      answer(refund(deps, "r", "u")),
      answer(revoke(deps, "v", "g")),
    ]);
    expect(answers).toEqual([done(30, 71), done(30, 101), done(100, 1)]);
    // The event keys of use and grant are read once, together.
    expect(store.stats).toMatchObject({ reads: 1, readItems: 2, commits: 1 });
    expect(await differences(deps)).toEqual([]);
  });

  test("a use behind a replayed use is not refused for it", async () => {
    const { deps, process, coalesced } = createFixture();
    await grant(deps, "g", 99);
    const other = process();
    await use(other, "first", 60);
    // The cache of this process does not have "first", after which 40 points are left.
    const answers = await coalesced(deps, () => [
      answer(use(deps, "first", 60)),
      answer(use(deps, "second", 40)),
    ]);
    expect(answers).toEqual([replayed(60, 39), done(40, 0)]);
    expect(await differences(deps)).toEqual([]);
  });

  test("36 expiries and the rows of reservations in one batch", async () => {
    const { deps, clock, store, coalesced } = createFixture(36);
    for (let month = 0; month < 36; month++) {
      clock.time = Date.UTC(2026, month, 15);
      await grant(deps, `g${month}`, 10);
    }
    clock.time = Date.UTC(2032, 0, 15);
    const ids = Array.from({ length: 10 }, (_, i) => `r${i}`);
    for (const id of ids) {
      const requests = {
        reservationId: id,
        userId,
        points: 5,
        reason: "",
        executeTime: 0,
        allowPastExecuteTime: true,
        caller: asService("test"),
      };
      await createReservation({ ...deps, background: () => {} }, { programId, ...requests });
    }
    store.resetStats();
    const commits: number[] = [];
    store.answering = ({ op, refs }) => {
      if (op === "commit") commits.push(refs.length);
    };
    const fresh = createEngine(deps, store.itemStore);
    const steps = await Promise.all(
      ids.map((id) => executeReservation(fresh, { programId, reservationId: id, userId })),
    );
    expect(steps.map(({ reservation }) => reservation.grant?.entryNumber)).toEqual(
      ids.map((_, i) => 73 + i),
    );
    // First one call: account, 36 expiries, its entry, key and record; then nine calls.
    expect(commits).toEqual([40, 28]);
    expect(await balance(deps)).toBe(50);
    expect(await differences(deps)).toEqual([]);

    clock.time = Date.UTC(2035, 0, 15);
    const answers = await coalesced(deps, () =>
      Array.from({ length: 60 }, (_, i) => answer(grant(deps, `late${i}`, 1))),
    );
    expect(answers.every((each) => typeof each === "object")).toBe(true);
    expect(await balance(deps)).toBe(61);
    expect(await differences(deps)).toEqual([]);
  });

  test("a batch closes at 100 items as they are packed, and the rest goes next", async () => {
    const { deps, store, coalesced } = createFixture();
    const items: number[] = [];
    const grants: number[] = [];
    const answers = await coalesced(deps, () => {
      store.answering = ({ op, writes }) => {
        if (op !== "commit") return;
        items.push(pack(writes).length);
        grants.push(writes.filter(({ ref }) => ref.kind === "entry").length);
      };
      return Array.from({ length: 300 }, (_, i) => answer(grant(deps, `g${i}`, 1)));
    });
    expect(answers).toEqual(answers.map((_, i) => done(1, i + 2)));
    expect(Math.max(...items)).toBe(100);
    // The account, a key for each grant, and packed entries.
    expect(Math.max(...grants)).toBeGreaterThan(85);
    expect(grants.length).toBeLessThanOrEqual(6);
    expect(await differences(deps)).toEqual([]);
  });

  test("one call above the limits fails alone", async () => {
    const { deps } = createFixture();
    const refs = Array.from({ length: 101 }, (_, i) => eventRef(programId, "other", `c:${i}`));
    const absent: Ref[] = [];
    const tooBig = deps.engine.transact({
      key: account,
      readSet: [],
      expectAbsent: absent,
      call: undefined,
      decide(tx) {
        for (const ref of refs) tx.put(ref, {} as never);
      },
    });
    const [failed, answered] = await Promise.all([
      tooBig.catch((error: Error) => error.message),
      answer(grant(deps, "a", 1)),
    ]);
    expect(failed).toContain("exceeds");
    expect(answered).toEqual(done(1, 1));
  });

  test("many waiting refunds do not read the uses of the others again and again", async () => {
    const { deps, store, coalesced } = createFixture();
    const ids = Array.from({ length: 300 }, (_, i) => `u${i}`);
    await grant(deps, "g", 300);
    await Promise.all(ids.map((id) => use(deps, id, 1)));
    const answers = await coalesced(deps, () =>
      ids.map((id) => answer(refund(deps, `r-${id}`, id))),
    );
    expect(answers.every((each) => typeof each === "object" && each.points === 1)).toBe(true);
    // A transaction has 33 refunds; for each of them at most 100 read their uses.
    expect(store.stats.readItems).toBeLessThan(1_200);
    expect(await balance(deps)).toBe(301);
    expect(await differences(deps)).toEqual([]);
  });

  test("an error in one decision fails that call alone", async () => {
    const { deps, coalesced } = createFixture();
    const broken = () =>
      deps.engine.transact({
        key: account,
        readSet: [account],
        expectAbsent: [],
        call: undefined,
        decide(tx): void {
          tx.put(account, { ...(tx.get(account) as Account), last: 1_000 });
          throw new TypeError("a mistake");
        },
      });
    const answers = await coalesced<unknown>(deps, () => [
      answer(grant(deps, "a", 10)),
      broken().catch((error: Error) => error),
      answer(grant(deps, "b", 10)),
    ]);
    expect(answers).toEqual([done(10, 11), new TypeError("a mistake"), done(10, 21)]);
    expect(await differences(deps)).toEqual([]);
  });

  test("a failed condition of one call does not fail the others of its batch", async () => {
    const { deps, process, coalesced } = createFixture();
    const other = process();
    await grant(deps, "g", 100);
    await use(other, "u", 20);
    await refund(other, "r", "u", 15);
    await grant(other, "old", 5);
    const answers = await coalesced(deps, () => [
      answer(grant(deps, "old", 5)),
      answer(grant(deps, "new", 1)),
      answer(refund(deps, "r2", "u", 10)),
      answer(refund(deps, "r3", "u", 5)),
      answer(grant(deps, "old", 6)),
      answer(use(deps, "u", 20)),
    ]);
    expect(answers).toEqual([
      replayed(5, 100),
      done(1, 102),
      "LIMIT_EXCEEDED",
      done(5, 107),
      "ID_REUSED",
      replayed(20, 80),
    ]);
    expect(await differences(deps)).toEqual([]);
  });
});

describe.each(isolations)("refusals, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test("the retry of a use of all points is replayed", async () => {
    const { deps, process } = createFixture();
    await grant(deps, "g", 50);
    expect(await answer(use(deps, "u", 50))).toEqual(done(50, 0));
    // With the current account in the cache, with an empty cache, and with an old account.
    expect(await answer(use(deps, "u", 50))).toEqual(replayed(50, 0));
    const [cold, stale] = [process(), process()];
    expect(await answer(use(cold, "u", 50))).toEqual(replayed(50, 0));
    await grant(stale, "g2", 10);
    expect(await answer(use(cold, "u2", 10))).toEqual(done(10, 0));
    expect(await answer(use(stale, "u2", 10))).toEqual(replayed(10, 0));
    expect(await answer(use(cold, "u3", 1))).toBe("INSUFFICIENT_POINTS");
  });

  test("even when the first one commits just before read validation", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    await grant(other, "g", 50);
    await use(other, "before", 20);
    // "late" needs 40 of 30 points; before its key is read, 10 are granted and the same id uses 40.
    let landed: unknown;
    store.arriving = async (request) => {
      if (request.op !== "read" || !kinds(request).includes("event")) return undefined;
      store.arriving = undefined;
      await grant(other, "more", 10);
      landed = await answer(use(other, "late", 40));
      return undefined;
    };
    expect(await answer(use(deps, "late", 40))).toEqual(replayed(40, 0));
    expect(landed).toEqual(done(40, 0));
  });

  test("never depend on an old cached record", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    await grant(deps, "g", 10);
    await grant(other, "more", 90);
    expect(await answer(use(deps, "u", 100))).toEqual(done(100, 0));
    // A right refusal costs one atomic read of the account and its event key.
    store.resetStats();
    const requests: string[] = [];
    store.arriving = (request) => void requests.push(kinds(request));
    expect(await answer(use(deps, "v", 1))).toBe("INSUFFICIENT_POINTS");
    expect(requests).toEqual(["event+account"]);
    // With an empty cache it costs one more read.
    requests.length = 0;
    expect(await answer(use(process(), "w", 1))).toBe("INSUFFICIENT_POINTS");
    expect(requests.filter((each) => each !== "program")).toEqual(["account", "event+account"]);
  });

  test("are delivered only when the writes that they depend on have committed", async () => {
    const { deps, process, store, coalesced } = createFixture();
    const other = process();
    await grant(other, "g", 49);
    // In the batch "a" takes all points and "b" is refused; but "more" is committed before it.
    const answers = await coalesced(deps, () => {
      let isFirst = true;
      store.answering = async ({ op }) => {
        if (op !== "commit" || !isFirst) return;
        isFirst = false;
        await grant(other, "more", 50);
      };
      return [answer(use(deps, "a", 50)), answer(use(deps, "b", 50))];
    });
    expect(answers).toEqual([done(50, 50), done(50, 0)]);
    expect(await differences(deps)).toEqual([]);
  });

  test("after a write of the same batch cost only one read more", async () => {
    const { deps, store, coalesced } = createFixture();
    const requests: string[] = [];
    const answers = await coalesced(deps, () => {
      store.answering = (request) => void requests.push(kinds(request));
      return [answer(use(deps, "a", 1)), answer(use(deps, "b", 1))];
    });
    expect(answers).toEqual([done(1, 0), "INSUFFICIENT_POINTS"]);
    const commit = "account+entry+event";
    expect(requests).toEqual([commit, "event+account", commit]);
  });

  test("never mix what was read before a change with what was read after it", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    const fields = {
      programId,
      userId,
      reason: "",
      caller: asService("test"),
      deadline: undefined,
    };
    await grant(other, "g", 10);
    await freezeAccount(other, { ...fields, eventId: "f" });
    // A conflict makes the key contended, so records are read before each batch.
    let isFirst = true;
    store.arriving = ({ op }) => {
      if (op !== "commit" || !isFirst) return undefined;
      isFirst = false;
      return "conflict";
    };
    await unfreezeAccount(deps, { ...fields, eventId: "t" });
    await freezeAccount(other, { ...fields, eventId: "f2" });
    store.answering = async ({ op, refs }) => {
      if (op !== "read" || !refs.some(({ kind }) => kind === "account")) return;
      store.answering = undefined;
      await unfreezeAccount(other, { ...fields, eventId: "t2" });
      await use(other, "u", 4);
    };
    expect(await answer(refund(deps, "r", "u"))).toEqual(done(4, 10));
    expect(await differences(deps)).toEqual([]);
  });

  test("that are wrong after a version conflict are not delivered", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    // The first read finds no use; the use is committed before the second read.
    await grant(other, "g", 10);
    store.arriving = async (request) => {
      if (request.op !== "read" || !kinds(request).includes("event")) return undefined;
      store.arriving = undefined;
      await use(other, "u", 10);
      return undefined;
    };
    expect(await answer(refund(deps, "r", "u"))).toEqual(done(10, 10));
    expect(await answer(refund(deps, "r2", "nothing"))).toBe("LEDGER_ENTRY_NOT_FOUND");
  });
});

describe.each(isolations)("costs and cache, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test("cold: one read and one write; busy: one write", async () => {
    const { deps, store } = createFixture();
    await grant(deps, "a", 10);
    expect(store.stats).toMatchObject({ reads: 1, readItems: 1, commits: 1 });
    await grant(deps, "b", 10);
    await use(deps, "c", 5);
    expect(store.stats).toMatchObject({ reads: 1, readItems: 1, commits: 3, writtenItems: 9 });
  });

  test("a replayed grant costs no read", async () => {
    const { deps, process, store } = createFixture();
    await grant(process(), "a", 10);
    await grant(deps, "b", 10);
    store.resetStats();
    expect(await answer(grant(deps, "a", 10))).toEqual(replayed(10, 10));
    expect(store.stats).toMatchObject({ reads: 0, commits: 1 });
  });

  // Only without delays of items, because they need timers and the time is faked.
  test.runIf(isolation === "whole")("the cache serves for a second, and no longer", async () => {
    const { deps, store } = createFixture();
    holdTime();
    await grant(deps, "a", 10);
    vi.advanceTimersByTime(700);
    store.resetStats();
    await grant(deps, "b", 10);
    expect(store.stats).toMatchObject({ reads: 0, commits: 1 });
    vi.advanceTimersByTime(1_050);
    store.resetStats();
    await grant(deps, "c", 10);
    expect(store.stats).toMatchObject({ reads: 1, commits: 1 });
  });

  test("reads never answer from the cache", async () => {
    const { deps, process } = createFixture();
    await grant(deps, "a", 10);
    await grant(process(), "b", 10);
    expect(await balance(deps)).toBe(20);
  });

  test("after a version conflict the records that failed conditions return are used", async () => {
    const { deps, process, store } = createFixture();
    const other = process();
    await grant(deps, "a", 10);
    await grant(other, "b", 10);
    store.resetStats();
    expect(await answer(grant(deps, "c", 10))).toEqual(done(10, 30));
    expect(store.stats).toMatchObject({ reads: 0, commits: 2 });
  });

  // Only without delays of items, because they need timers and the time is faked.
  test.runIf(isolation === "whole")("queues of idle keys are dropped", async () => {
    const { deps, store } = createFixture();
    holdTime();
    // A key becomes idle just after its last call has been answered.
    const becomeIdle = () => sleep(5);
    const userIds = Array.from({ length: 500 }, (_, i) => `user-${i}`);
    await Promise.all(userIds.map((each) => grant(deps, "g", 1, { userId: each })));
    const engine = deps.engine as CommitEngine;
    expect(engine.keyCount).toBe(500);
    await becomeIdle();
    vi.advanceTimersByTime(3_050);
    await grant(deps, "g", 1);
    await becomeIdle();
    expect(engine.keyCount).toBe(1);
    // A key with a call under way is kept, the idle ones are not.
    const release = Promise.withResolvers<void>();
    store.arriving = async ({ refs }) => {
      if (refs.some(({ id }) => id === `${programId}#slow`)) await release.promise;
      return undefined;
    };
    const slow = grant(deps, "g", 1, { userId: "slow" });
    await Promise.all(userIds.map((each) => grant(deps, "h", 1, { userId: each })));
    await becomeIdle();
    vi.advanceTimersByTime(3_050);
    await grant(deps, "h", 1);
    await becomeIdle();
    expect(engine.keyCount).toBe(2);
    expect(engine.busyKeyCount).toBe(1);
    release.resolve();
    await slow;
    await becomeIdle();
    expect(engine.busyKeyCount).toBe(0);
  });
});

describe.each(isolations)("two processes, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test("that write one account lose and double no use", async () => {
    const { deps, process, store } = createFixture();
    store.latencyMs = 1;
    const processes = [deps, process(), process()];
    await grant(deps, "g", 200);
    const used = await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        answer(use(processes[i % 3] as Deps, `u${Math.floor(i / 2)}`, 2)),
      ),
    );
    const taken = used.filter((each) => typeof each === "object" && !each.replayed);
    expect(taken).toHaveLength(100);
    expect(used.filter((each) => each === "CONTENDED")).toEqual([]);
    expect(await balance(deps)).toBe(0);
    expect(await differences(deps)).toEqual([]);
  });

  test("the version that a call sees includes the writes of earlier calls", async () => {
    const { deps, store, coalesced, stored } = createFixture();
    await grant(deps, "g", 10);
    const healthy = (await stored()) as Account;
    store.force(account, { ...healthy, totals: { ...healthy.totals, usedPoints: 7 } });
    const name = { programId, userId };
    // The repair must keep the grant that is decided earlier in the same batch.
    const answers = await coalesced<unknown>(deps, () => [
      answer(grant(deps, "ahead", 100)),
      verifyAccount(deps, name, true).then(({ repaired }) => repaired),
      answer(grant(deps, "behind", 1000)),
    ]);
    expect(answers[1]).toBe(true);
    expect(await differences(deps)).toEqual([]);
    expect(await balance(deps)).toBe(1_111);
  });
});

describe.each(isolations)("what must never be overwritten, applied %s", (isolation) => {
  const createFixture = accountFixturesIn(isolation);

  test("ledger entries, though the account is older", async () => {
    const { deps, process, store, stored } = createFixture();
    await grant(deps, "a", 10);
    const before = await stored();
    await grant(deps, "b", 20);
    const second = await deps.reader.get(entryRef(programId, userId, 2));
    store.force(account, before);
    const call = grant(process(), "c", 30, { deadline: performance.now() + 1_000 });
    expect(await answer(call)).toBe("CONTENDED");
    expect(await deps.reader.get(entryRef(programId, userId, 2))).toEqual(second);

    const verified = await verifyAccount(deps, { programId, userId }, true);
    expect(verified.differences.map(({ field }) => field)).toContain("last");
    expect(verified.repaired).toBe(true);
    expect(await differences(deps)).toEqual([]);
    expect(await answer(grant(process(), "c", 30))).toEqual(done(30, 60));
  });

  test("the event key of a reservation, though its row is still PENDING", async () => {
    const { deps, process, store } = createFixture();
    const ref = reservationRef(programId, "r");
    const requests = {
      programId,
      reservationId: "r",
      userId,
      points: 5,
      reason: "",
      caller: asService("test"),
    };
    await createReservation(deps, { ...requests, executeTime: 0, allowPastExecuteTime: true });
    const pending = (await deps.reader.get(ref))?.value;
    const attempt = { programId, reservationId: "r", userId };
    const first = await executeReservation(deps, attempt);
    expect(first).toMatchObject({ outcome: "DONE", availablePoints: 5 });
    store.force(ref, pending);
    const again = await executeReservation(process(), attempt);
    expect(again).toMatchObject({ outcome: "DONE", availablePoints: 5 });
    expect(await balance(deps)).toBe(5);
    expect(await differences(deps)).toEqual([]);
  });
});

test("an account that is written all the time can be verified", async () => {
  const { deps, store } = createAccountFixture();
  store.latencyMs = 1;
  await grant(deps, "first", 1);
  let busy = true;
  const writer = (async () => {
    for (let i = 0; busy; i++) await grant(deps, `g${i}`, 1);
  })();
  const slow: Deps = {
    ...deps,
    reader: {
      ...deps.reader,
      async entries(...query) {
        await sleep(10);
        return deps.reader.entries(...query);
      },
    },
  };
  for (let i = 0; i < 5; i++) {
    const { differences: found, entryCount } = await verifyAccount(
      slow,
      { programId, userId },
      false,
    );
    expect(found).toEqual([]);
    expect(entryCount).toBeGreaterThan(0);
  }
  busy = false;
  await writer;
});

test("an account without its record is rebuilt from its ledger", async () => {
  const { deps, store, process } = createAccountFixture();
  await grant(deps, "a", 10);
  store.force(account, undefined);
  const verified = await verifyAccount(deps, { programId, userId }, true);
  expect(verified).toMatchObject({ repaired: true, entryCount: 1 });
  expect(await balance(process())).toBe(10);
  expect(await differences(deps)).toEqual([]);
  const nobody = await verifyAccount(deps, { programId, userId: "nobody" }, true);
  expect(nobody).toMatchObject({ differences: [], entryCount: 0, repaired: false });
});

/** The same dependencies with an engine that has just started. */
function createEngine(deps: Deps, items: ConstructorParameters<typeof CommitEngine>[0]["store"]) {
  return { ...deps, engine: new CommitEngine({ store: items, clock: deps.clock }) };
}
