import { describe, expect, test } from "vitest";
import { balanceOf, emptyAccount } from "../../src/domain/account.ts";
import { grant, maxBalance, maxPoints, refund, setFrozen } from "../../src/domain/points.ts";
import { changes, createStory, day, event, months, program } from "../support/fixtures/accounts.ts";

const refused = (reason: string, metadata?: object) =>
  expect.objectContaining({ reason, ...(metadata && { metadata }) });

/** Four months with points, of which the first three are used by one use. */
function used() {
  const story = createStory(program(6));
  story.grant(day("2026-01-10"), "jan", 10);
  story.grant(day("2026-02-10"), "feb", 20);
  story.grant(day("2026-03-10"), "mar", 30);
  story.grant(day("2026-04-10"), "apr", 40);
  story.use(day("2026-04-11"), "use", 55);
  return story;
}

describe("using", () => {
  test("takes the oldest first, over the edge of the ring", () => {
    const story = used();
    expect(changes(story.entries.at(-1) as never)).toEqual([
      ["2026-01", -10],
      ["2026-02", -20],
      ["2026-03", -25],
    ]);
    expect(months(story.account)).toEqual({ "2026-03": 5, "2026-04": 40 });
  });

  test("too little is refused with the balance, unless a part will do", () => {
    const story = used();
    const now = day("2026-04-12");
    expect(() => story.use(now, "much", 46)).toThrow(
      refused("INSUFFICIENT_POINTS", { balance: "45" }),
    );
    expect(story.use(now, "part", 46, true).points).toBe(45);
    for (const partial of [true, false]) {
      expect(() => story.use(now, "none", 1, partial)).toThrow(
        refused("INSUFFICIENT_POINTS", { balance: "0" }),
      );
    }
    story.grant(now, "more", 3);
    expect(story.use(now, "exact", 3).points).toBe(3);
    expect(balanceOf(story.account)).toBe(0);
  });
});

describe("refunding", () => {
  test("restores the newest month first, in parts", () => {
    const story = used();
    const now = day("2026-04-20");
    expect(changes(story.refund(now, "r1", "use", 10))).toEqual([["2026-03", 10]]);
    expect(changes(story.refund(now, "r2", "use", 20))).toEqual([
      ["2026-02", 5],
      ["2026-03", 15],
    ]);
    expect(changes(story.refund(now, "r3", "use", 15))).toEqual([["2026-02", 15]]);
    expect(() => story.refund(now, "r4", "use", 11)).toThrow(
      refused("LIMIT_EXCEEDED", { refundable: "10" }),
    );
    expect(changes(story.refund(now, "r5", "use"))).toEqual([["2026-01", 10]]);
    expect(() => story.refund(now, "r6", "use")).toThrow(
      refused("LIMIT_EXCEEDED", { refundable: "0" }),
    );
    expect(months(story.account)).toEqual({
      "2026-01": 10,
      "2026-02": 20,
      "2026-03": 30,
      "2026-04": 40,
    });
    expect(story.account.totals.refunded).toBe(55);
  });

  test("in parts or whole: the same account", () => {
    const whole = used();
    whole.refund(day("2026-04-20"), "r", "use");
    for (const parts of [[55], [1, 54], [25, 20, 10], [24, 2, 29], Array<number>(55).fill(1)]) {
      const story = used();
      for (const [i, part] of parts.entries()) {
        story.refund(day("2026-04-20"), `r${i}`, "use", part);
      }
      expect(months(story.account)).toEqual(months(whole.account));
      expect(story.account.totals).toEqual(whole.account.totals);
    }
  });

  test("ORIGINAL_EXPIRY: what has expired expires at once, and the ledger shows both", () => {
    const story = used();
    // January and February have gone by the tenth of August.
    const now = day("2026-08-10");
    const before = story.entries.length;
    const entry = story.refund(now, "r", "use");
    expect(changes(entry)).toEqual([
      ["2026-01", 10],
      ["2026-02", 20],
      ["2026-03", 25],
    ]);
    // March, April: 45; with the refund 100; without what is gone 70.
    expect(entry.balance).toBe(100);
    const [first, second] = story.entries.slice(before + 1);
    expect(first).toMatchObject({
      type: "EXPIRED",
      event: { origin: "x", eventId: "2026-01/c:r" },
      points: 10,
      balance: 90,
      effectiveTime: Date.parse("2026-07-01T00:00:00+09:00"),
      createTime: now,
    });
    expect(second).toMatchObject({ event: { eventId: "2026-02/c:r" }, points: 20, balance: 70 });
    expect(months(story.account)).toEqual({ "2026-03": 30, "2026-04": 40 });
    expect(story.account.totals).toMatchObject({ refunded: 55, expired: 30 });
  });

  test("ORIGINAL_EXPIRY in parts: each shows its own expiries", () => {
    const story = used();
    const now = day("2026-08-10");
    story.refund(now, "r1", "use", 40);
    story.refund(now, "r2", "use", 15);
    const expired = story.entries.filter(({ type }) => type === "EXPIRED");
    expect(expired.map(({ event: { eventId }, points }) => [eventId, points])).toEqual([
      ["2026-02/c:r1", 15],
      ["2026-01/c:r2", 10],
      ["2026-02/c:r2", 5],
    ]);
    expect(months(story.account)).toEqual({ "2026-03": 30, "2026-04": 40 });
  });

  test("CURRENT_MONTH: only what has expired moves to the current month", () => {
    const story = used();
    const now = day("2026-08-10");
    const entry = story.refund(now, "r", "use", undefined, "CURRENT_MONTH");
    expect(changes(entry)).toEqual([
      ["2026-03", 25],
      ["2026-08", 30],
    ]);
    expect(months(story.account)).toEqual({ "2026-03": 30, "2026-04": 40, "2026-08": 30 });
    expect(story.account.totals).toMatchObject({ refunded: 55, expired: 0 });
  });

  test("CURRENT_MONTH: what belongs there anyway and what moves there are one change", () => {
    const story = createStory(program(2));
    story.grant(day("2026-01-10"), "jan", 10);
    story.grant(day("2026-02-10"), "feb", 20);
    story.use(day("2026-02-11"), "use", 30);
    // Nothing has expired yet.
    expect(changes(story.refund(day("2026-02-12"), "r1", "use", 25, "CURRENT_MONTH"))).toEqual([
      ["2026-01", 5],
      ["2026-02", 20],
    ]);
    story.grant(day("2026-03-10"), "mar", 1);
    expect(changes(story.refund(day("2026-03-12"), "r2", "use", 5, "CURRENT_MONTH"))).toEqual([
      ["2026-03", 5],
    ]);
    expect(months(story.account)).toEqual({ "2026-02": 20, "2026-03": 6 });
  });

  test("at the very instant of expiry the points have expired", () => {
    const july = Date.parse("2026-07-01T00:00:00+09:00");
    const before = used();
    before.refund(july - 1, "r", "use");
    expect(before.account.totals.expired).toBe(0);
    const after = used();
    after.refund(july, "r", "use");
    expect(after.account.totals.expired).toBe(10);
    expect(months(after.account)).not.toHaveProperty("2026-01");
    const current = used();
    current.refund(july, "r", "use", undefined, "CURRENT_MONTH");
    expect(months(current.account)).toMatchObject({ "2026-02": 20, "2026-07": 10 });
  });

  test("restores what the use took though a grant behind it was revoked meanwhile", () => {
    const story = createStory(program(6));
    story.grant(day("2026-01-10"), "a", 10);
    story.use(day("2026-01-11"), "use", 10);
    expect(story.revoke(day("2026-01-12"), "v", "a").points).toBe(0);
    story.refund(day("2026-01-13"), "r", "use");
    expect(balanceOf(story.account)).toBe(10);
    // And now there is something to revoke.
    expect(story.revoke(day("2026-01-14"), "v2", "a").points).toBe(10);
    expect(balanceOf(story.account)).toBe(0);
  });

  test("what is refunded may be used and refunded again, each use for itself", () => {
    const story = used();
    const now = day("2026-04-20");
    story.refund(now, "r", "use");
    story.use(now, "again", 100);
    expect(() => story.refund(now, "r2", "use")).toThrow(refused("LIMIT_EXCEEDED"));
    expect(story.refund(now, "r3", "again").points).toBe(100);
  });
});

describe("revoking", () => {
  test("takes what the grant's month holds, at most the rest of the grant", () => {
    const story = createStory(program(6));
    story.grant(day("2026-01-10"), "a", 10);
    story.grant(day("2026-01-11"), "b", 10);
    story.use(day("2026-01-12"), "use", 15);
    // Inside a month points are interchangeable.
    const first = story.revoke(day("2026-01-13"), "v1", "a");
    expect(first).toMatchObject({ points: 5, relatedEvent: { origin: "c", eventId: "a" } });
    story.refund(day("2026-01-14"), "r", "use");
    expect(story.revoke(day("2026-01-15"), "v2", "a").points).toBe(5);
    const nothing = story.revoke(day("2026-01-16"), "v3", "a");
    expect(nothing).toMatchObject({ points: 0, changes: [] });
    expect(story.account.totals.revoked).toBe(10);
    expect(story.key("a").reversedPoints).toBe(10);
    expect(balanceOf(story.account)).toBe(10);
  });

  test("takes nothing of what has expired, nor of the month that shares its slot", () => {
    const story = createStory(program(3));
    story.grant(day("2026-01-10"), "jan", 10);
    story.grant(day("2026-04-10"), "apr", 10);
    expect(story.revoke(day("2026-04-11"), "v", "jan").points).toBe(0);
    expect(months(story.account)).toEqual({ "2026-04": 10 });
  });

  test("works on a frozen account", () => {
    const story = createStory(program(3));
    story.grant(day("2026-01-10"), "jan", 10);
    story.freeze(day("2026-01-11"), "f");
    expect(story.revoke(day("2026-01-12"), "v", "jan").points).toBe(10);
    expect(story.account.frozen).toBe(true);
  });
});

describe("freezing", () => {
  test("refuses grants, uses and refunds; expiry goes on", () => {
    const story = used();
    story.freeze(day("2026-04-12"), "f");
    const now = day("2026-04-13");
    expect(() => story.grant(now, "x", 1)).toThrow(refused("ACCOUNT_FROZEN"));
    expect(() => story.use(now, "x", 1)).toThrow(refused("ACCOUNT_FROZEN"));
    expect(() => story.refund(now, "x", "use")).toThrow(refused("ACCOUNT_FROZEN"));
    const thawed = story.freeze(day("2026-10-13"), "u", false);
    expect(thawed).toMatchObject({ type: "UNFROZEN", frozen: false, points: 0, balance: 0 });
    const expired = story.entries.filter(({ type }) => type === "EXPIRED");
    expect(expired.map(({ points, frozen }) => [points, frozen])).toEqual([
      [5, true],
      [40, true],
    ]);
    story.grant(day("2026-10-14"), "y", 1);
  });

  test("creates an unknown account, unfreezing does not", () => {
    const scene = { program: program(3), userId: "u", account: undefined, now: day("2026-01-10") };
    const { account, entries } = setFrozen(scene, event("f"), true);
    expect(account).toMatchObject({ frozen: true, last: 1 });
    expect(account.oldest).toBeUndefined();
    expect(entries.map(({ type }) => type)).toEqual(["FROZEN"]);
    expect(() => setFrozen(scene, event("f"), false)).toThrow(refused("ACCOUNT_NOT_FOUND"));
  });

  test("twice writes twice", () => {
    const story = used();
    story.freeze(day("2026-04-12"), "f1");
    story.freeze(day("2026-04-12"), "f2");
    expect(story.entries.slice(-2).map(({ type }) => type)).toEqual(["FROZEN", "FROZEN"]);
  });
});

describe("limits", () => {
  const now = day("2026-01-10");
  const full = (more: object) => ({
    ...emptyAccount(program(3), "u", now),
    slots: [maxBalance - maxPoints, 0, 0],
    ...more,
  });

  test("a balance of 10^15 and not one more", () => {
    const scene = { program: program(3), userId: "u", account: full({}), now };
    const { account } = grant(scene, event("a"), maxPoints);
    expect(balanceOf(account)).toBe(maxBalance);
    expect(() => grant({ ...scene, account }, event("b"), 1)).toThrow(refused("LIMIT_EXCEEDED"));
  });

  test("issued and refunded in sum", () => {
    const totals = { issued: maxBalance, used: 0, expired: 0, refunded: 0, revoked: 0 };
    const account = full({ totals, slots: [0, 0, 0] });
    const scene = { program: program(3), userId: "u", account, now };
    expect(() => grant(scene, event("a"), 1)).toThrow(refused("LIMIT_EXCEEDED"));
    const refunded = { ...account, totals: { ...totals, refunded: maxBalance } };
    const story = createStory(program(3));
    story.grant(now, "g", 5);
    story.use(now, "use", 5);
    const key = story.key("use");
    expect(() =>
      refund({ ...scene, account: refunded }, event("r"), key, 1, "ORIGINAL_EXPIRY"),
    ).toThrow(refused("LIMIT_EXCEEDED"));
  });
});

test("an issue says when its points expire, as known when it is written", () => {
  const story = createStory(program(3));
  const entry = story.grant(day("2026-01-10"), "a", 1);
  expect(entry.expireTime).toBe(Date.parse("2026-04-01T00:00:00+09:00"));
});
