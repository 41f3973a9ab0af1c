/** Tests forecasts: by hand, and against a history that is really played to its end. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import type { DomainError } from "../../../src/platform/words/errors.ts";
import { monthStart, parseMonth } from "../../../src/platform/words/month.ts";
import { maxPoints } from "../../../src/platform/words/units.ts";
import { availablePointsOf, expireDue } from "../../../src/points/rules/account.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { grant, maxBalance } from "../../../src/points/rules/points.ts";
import { lengthen } from "../../../src/points/rules/program.ts";
import {
  type Forecast,
  forecast,
  isOutstanding,
} from "../../../src/reservations/rules/forecast.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { createLedger, day, event, program } from "../../support/fixtures/ledger-fixture.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

const startOf = (month: string) => monthStart("Asia/Tokyo", parseMonth(month));

const reservation = (
  reservationId: string,
  executeTime: number,
  points: number,
  more: Partial<Reservation> = {},
): Reservation => ({
  programId: "p",
  reservationId,
  userId: "u",
  points,
  reason: "",
  creator: asService("shop"),
  hash: "h",
  executeTime,
  state: "PENDING",
  createTime: 0,
  updateTime: 0,
  ...more,
});

/** A line for each change, and the balance at the end. */
const linesOf = ({ changes, availablePoints: balance }: Forecast) => [
  ...changes.map(({ time, cause, points, reservationId, availablePoints: after }) =>
    [new Date(time).toISOString().slice(0, 10), cause, points, reservationId, after].join(" "),
  ),
  `= ${balance}`,
];

/** An account with 10 points of January and 20 of February, three months of lifetime. */
function setUp() {
  const of = program(3);
  const ledger = createLedger(of);
  ledger.grant(day("2026-01-10"), "jan", 10);
  ledger.grant(day("2026-02-10"), "feb", 20);
  return { program: of, userId: "u", account: ledger.account, now: day("2026-02-20") };
}

describe("a forecast", () => {
  test("has what expires and what is reserved, whose points expire as well", () => {
    const outstanding = [
      reservation("later", day("2026-06-10"), 5),
      reservation("soon", day("2026-03-10"), 7),
    ];
    // Midnight in Tokyo is the afternoon before in UTC.
    expect(linesOf(forecast(setUp(), outstanding, day("2026-06-20")))).toEqual([
      "2026-03-10 RESERVATION 7 soon 37",
      "2026-03-31 EXPIRY -10  27",
      "2026-04-30 EXPIRY -20  7",
      "2026-05-31 EXPIRY -7  0",
      "2026-06-10 RESERVATION 5 later 5",
      "= 5",
    ]);
  });

  test("includes its instant, at which expiries come first and a grant is of the new month", () => {
    const start = startOf("2026-04");
    const outstanding = [reservation("b", start, 2), reservation("a", start, 1)];
    const state = setUp();
    expect(linesOf(forecast(state, outstanding, start))).toEqual([
      "2026-03-31 EXPIRY -10  20",
      "2026-03-31 RESERVATION 1 a 21",
      "2026-03-31 RESERVATION 2 b 23",
      "= 23",
    ]);
    expect(linesOf(forecast(state, outstanding, start - 1))).toEqual(["= 30"]);
    const { changes } = forecast(state, outstanding, startOf("2026-07"));
    expect(changes.at(-1)).toMatchObject({
      time: startOf("2026-07"),
      points: -3,
      availablePoints: 0,
    });
  });

  test("counts an overdue reservation as granted now, after what is due", () => {
    const state = { ...setUp(), now: day("2026-04-20") };
    const found = forecast(state, [reservation("late", day("2026-02-01"), 5)], state.now);
    expect(found.currentAvailablePoints).toBe(20);
    expect(linesOf(found)).toEqual(["2026-04-20 RESERVATION 5 late 25", "= 25"]);
    // It is of April, not of February.
    const june = linesOf(forecast(state, [reservation("late", 0, 5)], day("2026-06-20")));
    expect(june.at(-1)).toBe("= 5");
  });

  test("follows a lengthening that takes effect later", () => {
    const state = setUp();
    const longer = lengthen(state.program, 6, day("2026-03-20"));
    const found = forecast({ ...state, program: longer }, [], day("2026-08-20"));
    expect(linesOf(found)).toEqual([
      "2026-06-30 EXPIRY -10  20",
      "2026-07-31 EXPIRY -20  0",
      "= 0",
    ]);
  });

  test("of an unknown account has its reservations only", () => {
    const state = { ...setUp(), account: undefined };
    const found = forecast(state, [reservation("r", day("2026-03-10"), 7)], day("2026-03-11"));
    expect([found.currentAvailablePoints, found.availablePoints]).toEqual([0, 7]);
    expect(forecast(state, [], day("2026-03-11"))).toMatchObject({
      availablePoints: 0,
      changes: [],
    });
  });

  test("leaves out a reservation that would exceed the limit of an account", () => {
    const state = setUp();
    const slots = state.account.slots.map((points) => (points > 0 ? maxBalance - 15 : 0));
    const account = { ...state.account, slots: [slots[1] as number, 0, 0] };
    const outstanding = [
      reservation("fits", day("2026-02-21"), 15),
      reservation("exceeds", day("2026-02-22"), 1),
    ];
    const found = forecast({ ...state, account }, outstanding, day("2026-02-23"));
    expect(found.changes.map(({ reservationId }) => reservationId)).toEqual(["fits"]);
  });

  test("is refused for a past time, and one more than five years ahead", () => {
    const state = setUp();
    forecast(state, [], state.now);
    forecast(state, [], day("2031-02-20"));
    for (const time of [state.now - 1, day("2031-02-20") + 1]) {
      expect(() => forecast(state, [], time)).toThrow(
        expect.objectContaining({ reason: "INVALID_REQUEST", metadata: { field: "time" } }),
      );
    }
  });

  test("has at most 1,000 changes", () => {
    const state = setUp();
    const many = Array.from({ length: 1_000 }, (_, i) =>
      reservation(`r-${i}`, day("2026-03-01") + i, 1),
    );
    expect(forecast(state, many, day("2026-03-02")).changes).toHaveLength(1_000);
    expect(() => forecast(state, many, day("2026-04-02"))).toThrow(
      expect.objectContaining({ reason: "LIMIT_EXCEEDED", metadata: { limit: "1000" } }),
    );
  });
});

test("a reservation is outstanding until its grant is in the account", () => {
  const granted = { state: "DONE", grant: { time: 0, entryNumber: 5, dueSince: 0 } } as const;
  expect(isOutstanding(reservation("r", 0, 1), 5)).toBe(true);
  expect(isOutstanding(reservation("r", 0, 1, granted), 4)).toBe(true);
  expect(isOutstanding(reservation("r", 0, 1, granted), 5)).toBe(false);
  for (const state of ["FAILED", "CANCELLED"] as const) {
    expect(isOutstanding(reservation("r", 0, 1, { state }), 0)).toBe(false);
  }
});

describe("against what really happens", () => {
  const origin = day("2026-01-01");
  const dayMs = 86_400_000;
  const time = (days: number) => fc.integer({ min: 0, max: days * dayMs });
  const zone = fc.constantFrom("UTC", "Asia/Tokyo", "America/New_York", "Asia/Kathmandu");
  const points = fc.oneof(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: maxPoints - 5, max: maxPoints }),
  );

  /** Plays the reservations with the functions of the domain, as their workflows do. */
  function play(
    start: ReturnType<typeof setUp>,
    reservations: readonly Reservation[],
    until: number,
  ) {
    const lines: unknown[] = [];
    const addExpiries = (entries: readonly LedgerEntry[]) => {
      for (const { type, effectiveTime, points: expired, availablePoints: balance } of entries) {
        if (type !== "EXPIRED") continue;
        lines.push([effectiveTime, "EXPIRY", -expired, undefined, balance]);
      }
    };
    // What has expired by now is no change of the forecast.
    let { account } = expireDue(start.account, start.program, start.now);
    for (const { executeTime, reservationId, points: granted } of reservations) {
      const now = Math.max(executeTime, start.now);
      if (now > until) break;
      try {
        const change = grant({ ...start, account, now }, event(reservationId), granted);
        account = change.account;
        addExpiries(change.entries);
        lines.push([now, "RESERVATION", granted, reservationId, change.entry.availablePoints]);
      } catch (error) {
        expect((error as DomainError).reason).toBe("LIMIT_EXCEEDED");
      }
    }
    const end = expireDue(account, start.program, until);
    addExpiries(end.entries);
    return { balance: availablePointsOf(end.account), lines };
  }

  test("every change and the balance agree", async () => {
    const property = fc.asyncProperty(
      fc.record({
        timeZone: zone,
        lifetimeMonths: fc.integer({ min: 1, max: 5 }),
        longer: fc.record({ by: fc.integer({ min: 1, max: 7 }), at: time(900) }),
        past: fc.array(fc.record({ at: time(200), points }), { minLength: 1, maxLength: 6 }),
        reserved: fc.array(fc.record({ at: time(800), points }), { maxLength: 12 }),
        now: time(300),
        until: time(900),
        isNearLimit: fc.boolean(),
      }),
      async ({ timeZone, lifetimeMonths, longer, past, reserved, isNearLimit, ...given }) => {
        const of = program(lifetimeMonths, {
          timeZone,
          lifetimes: [
            { lifetimeMonths, effectiveTime: 0 },
            { lifetimeMonths: lifetimeMonths + longer.by, effectiveTime: origin + longer.at },
          ],
        });
        const ledger = createLedger(of);
        for (const [i, { at, points: granted }] of past.sort((a, b) => a.at - b.at).entries()) {
          ledger.grant(origin + at, `g-${i}`, granted);
        }
        const now = Math.max(origin + given.now, ledger.account.time);
        const { totals } = ledger.account;
        const account = isNearLimit
          ? { ...ledger.account, totals: { ...totals, issuedPoints: maxBalance - 4 * maxPoints } }
          : ledger.account;
        const start = { program: of, userId: "u", account, now };
        const reservations = reserved.map(({ at, points: granted }, i) =>
          reservation(`r-${String(i).padStart(2, "0")}`, origin + at, granted),
        );
        const until = Math.max(now, origin + given.until);
        const found = forecast(start, reservations, until);
        const inOrder = reservations.toSorted((a, b) => a.executeTime - b.executeTime);
        const played = play(start, inOrder, until);
        expect(
          found.changes.map(
            ({ time: at, cause, points: delta, reservationId, availablePoints: balance }) => [
              at,
              cause,
              delta,
              reservationId,
              balance,
            ],
          ),
        ).toEqual(played.lines);
        expect(found.availablePoints).toBe(played.balance);
      },
    );
    await assertSeeds(property, [{ seed: 20_261_125, numRuns: 300 }]);
  });
});
