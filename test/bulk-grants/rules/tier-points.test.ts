/** Tests which points of a day count, and how many approvals more points need. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  approvalsWithin,
  count,
  type PointsWindow,
  type TierPoints,
  tierPointsOf,
  uncount,
  windowAt,
} from "../../../src/bulk-grants/rules/tier-points.ts";
import { approvalsFor, defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 5, 1, 2, 30);
const rules = {
  ...defaultBulkRules,
  tiers: [
    { maxTotalPoints: 100, requiredApprovalCount: 0 },
    { maxTotalPoints: 500, requiredApprovalCount: 1 },
  ],
  requiredApprovalCount: 2,
};

/** Submits points, and returns how many approvals they need. */
function submit(program: { window: PointsWindow | undefined }, points: number, now: number) {
  const window = windowAt(program.window, now);
  const needed = approvalsWithin(rules, window, points);
  const tierPoints = tierPointsOf(window, needed, points);
  program.window = tierPoints ? count(window, tierPoints) : window;
  return { needed, tierPoints };
}

describe("the points of a day", () => {
  test("of twenty sheets just below a tier are those of one sheet above it", () => {
    const program = { window: undefined };
    const needed = Array.from({ length: 20 }, (_, i) => submit(program, 99, t0 + i).needed);
    expect(needed).toEqual([0, ...Array(4).fill(1), ...Array(15).fill(2)]);
  });

  test("count until the same hour of the next day begins", () => {
    const program = { window: undefined };
    expect(submit(program, 100, t0).needed).toBe(0);
    const nextDay = Date.UTC(2026, 5, 2, 2);
    expect(submit({ ...program }, 1, nextDay - 1).needed).toBe(1);
    expect(submit({ ...program }, 100, nextDay).needed).toBe(0);
  });

  test("beyond a tier that was lowered leave what grants nothing as it is", () => {
    const tierPoints = [{ hour: 0, approvalCount: 0, points: 101 }];
    const needed = [0, 1].map((points) => approvalsWithin(rules, { hour: 0, tierPoints }, points));
    expect(needed).toEqual([0, 1]);
  });

  test("are free again when they are taken back, but not twice", () => {
    const program = { window: undefined as PointsWindow | undefined };
    const { tierPoints } = submit(program, 100, t0);
    const taken = uncount(program.window as PointsWindow, tierPoints as TierPoints);
    expect(taken.tierPoints).toEqual([]);
    expect(uncount(taken, tierPoints as TierPoints)).toBe(taken);
  });

  test("fit into 1 KB: at most one entry for each hour and number of approvals", () => {
    const program = { window: undefined as PointsWindow | undefined };
    for (let i = 0; i < 500; i++) submit(program, (i % 200) + 1, t0 + i * (hourMs / 7));
    expect(program.window?.tierPoints.length).toBeLessThanOrEqual(48);
  });
});

/** What happens to a program: points come, an earlier submission is taken back, time passes. */
const event = fc.record({
  points: fc.integer({ min: 1, max: 300 }),
  takesBack: fc.option(fc.nat(20), { freq: 2 }),
  passesMs: fc.integer({ min: -hourMs, max: 6 * hourMs }),
});

test("random submissions, give-backs and clocks agree with a list of all that came", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const program = { window: undefined as PointsWindow | undefined };
      const all: { tierPoints: TierPoints | undefined; isBack: boolean }[] = [];
      let [now, latestHour] = [t0, 0];
      for (const { points, takesBack, passesMs } of events) {
        now += passesMs;
        latestHour = Math.max(latestHour, Math.floor(now / hourMs));
        const back = takesBack === null ? undefined : all[takesBack];
        if (back?.tierPoints && !back.isBack && program.window) {
          back.isBack = true;
          program.window = uncount(windowAt(program.window, now), back.tierPoints);
        }
        const live = all.flatMap(({ tierPoints, isBack }) =>
          tierPoints && !isBack && tierPoints.hour > latestHour - 24 ? [tierPoints] : [],
        );
        const expected = [0, 1, 2].find((needed) => {
          const others = live.filter(({ approvalCount }) => approvalCount <= needed);
          const sum = others.reduce((total, each) => total + each.points, points);
          return approvalsFor(rules, sum) <= needed;
        });
        const { needed, tierPoints } = submit(program, points, now);
        expect(needed).toBe(expected);
        expect(tierPoints?.hour ?? latestHour).toBe(latestHour);
        all.push({ tierPoints, isBack: false });
      }
    }),
    { seed: 24, numRuns: 300 },
  );
});
