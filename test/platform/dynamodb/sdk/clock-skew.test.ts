/** Tests the estimate of the local clock's skew with simulated clocks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSkewEstimator } from "../../../../src/platform/dynamodb/sdk/clock-skew.ts";

const hour = 3_600_000;

/** What floating point loses in the sums of simulated times, in ms. */
const rounding = 0.001;

/** A machine whose wall clock is ahead of the store's by `ahead` ms, and drifts by `drift`. */
function createMachine(ahead: number, drift = 0) {
  // The middle of a second. Today's times would lose digits in the sums of fractions.
  let store = 1_000_500;
  let wall = store + ahead;
  let monotonic = 12_345;
  const readClocks = () => ({ wall, monotonic });
  const estimator = createSkewEstimator(readClocks);
  const pass = (ms: number) => {
    store += ms;
    wall += ms * (1 + drift);
    monotonic += ms * (1 + drift);
  };
  return {
    ...estimator,
    pass,
    /** Sends a request that reaches the store after `upMs`, and is answered `downMs` later. */
    request(upMs: number, downMs: number, inFlight = () => {}) {
      const sent = readClocks();
      pass(upMs);
      const date = Math.floor(store / 1_000) * 1_000;
      inFlight();
      pass(downMs);
      estimator.observe(date, sent, readClocks());
    },
    /** Requests that take 4 ms, every 20 ms, for some seconds. */
    traffic() {
      for (let i = 0; i < 150; i++) {
        this.request(2, 2);
        pass(16);
      }
    },
    setWall(ms: number) {
      wall += ms;
    },
    setStore(ms: number) {
      store += ms;
    },
    suspend(ms: number) {
      store += ms;
      wall += ms;
    },
    ahead: () => wall - store,
    correctedAhead: () => wall + estimator.offsetMs() - store,
  };
}

/** Only a lead that is not proven to be more than 10 ms may be left, and 10 ms less of it. */
const leftOf = ({ skewMs, ahead }: ReturnType<typeof createMachine>): number =>
  skewMs() > 10 ? 0 : Math.max(0, ahead() - 10);

test.each<[string, number, number, number, number]>([
  ["the same second", 10_000, 10_200, 10_250, 0],
  ["the server's second begins during the request", 11_000, 10_900, 11_100, 0],
  ["the end of the server's second", 10_000, 10_990, 11_010, 0],
  ["a slow answer", 13_000, 10_500, 14_000, 0],
  ["ahead", 10_000, 17_500, 17_600, 6_500],
  ["behind", 20_000, 12_000, 12_100, -7_900],
])("the skew that one response proves: %s", (_, date, sent, received, skew) => {
  const reading = (ms: number) => ({ wall: ms, monotonic: ms });
  const { observe, skewMs } = createSkewEstimator(() => reading(received));
  observe(date, reading(sent), reading(received));
  expect(skewMs()).toBe(skew);
});

describe("any clock, drift and round trip", () => {
  const requests = fc.array(
    fc.record({
      upMs: fc.double({ min: 0, max: 300, noNaN: true }),
      downMs: fc.double({ min: 0, max: 300, noNaN: true }),
      pauseMs: fc.oneof(
        fc.double({ min: 0, max: 3_000, noNaN: true }),
        fc.double({ min: 0, max: 10 * 60_000, noNaN: true }),
      ),
    }),
    { minLength: 1, maxLength: 60 },
  );
  const aheadMs = fc.oneof(
    fc.double({ min: -8_000, max: 8_000, noNaN: true }),
    fc.double({ min: -50, max: 50, noNaN: true }),
  );
  const drift = fc.double({ min: -0.0004, max: 0.0004, noNaN: true });

  test("no more skew is proven than there is, and the corrected clock is not ahead", () => {
    fc.assert(
      fc.property(aheadMs, drift, requests, (ms, rate, sent) => {
        const machine = createMachine(ms, rate);
        for (const { upMs, downMs, pauseMs } of sent) {
          machine.request(upMs, downMs);
          for (const wait of [0, pauseMs]) {
            machine.pass(wait);
            const ahead = machine.ahead();
            const skew = machine.skewMs();
            expect(skew).toBeGreaterThanOrEqual(Math.min(0, ahead) - rounding);
            expect(skew).toBeLessThanOrEqual(Math.max(0, ahead) + rounding);
            expect(machine.correctedAhead()).toBeLessThanOrEqual(leftOf(machine) + rounding);
            // One second is what a single Date header leaves open, and 0.6 s the longest request.
            const faded = 0.001 * 10 * 60_000;
            expect(machine.correctedAhead()).toBeGreaterThan(-1_000 - 600 - faded - 10);
          }
        }
      }),
    );
  });

  test("with traffic, the corrected clock is right to about the time between requests", () => {
    fc.assert(
      fc.property(aheadMs, drift, (ms, rate) => {
        const machine = createMachine(ms, rate);
        machine.traffic();
        expect(Math.abs(machine.skewMs() - machine.ahead())).toBeLessThan(30);
        expect(machine.correctedAhead()).toBeLessThanOrEqual(leftOf(machine) + rounding);
        expect(Math.abs(machine.correctedAhead())).toBeLessThan(30);
      }),
    );
  });
});

test.each([-0.0004, 0.0004])("a clock that drifts by %d without requests is not ahead", (drift) => {
  const machine = createMachine(2_000, drift);
  machine.traffic();
  machine.pass(10 * 60_000);
  expect(machine.correctedAhead()).toBeLessThanOrEqual(0);
  expect(machine.skewMs()).toBeLessThanOrEqual(machine.ahead());
});

describe("without a proof", () => {
  test("nothing is known before the first response", () => {
    const machine = createMachine(3_000);
    expect(machine.skewMs()).toBe(0);
    expect(machine.offsetMs()).toBe(-10);
  });

  test("a clock that seems right loses 10 ms at most, less when responses prove more", () => {
    const machine = createMachine(0);
    machine.request(20, 20);
    expect(machine.offsetMs()).toBe(-10);
    machine.pass(460);
    // Its Date begins 2 ms before the answer arrives.
    machine.request(0, 2);
    expect(machine.offsetMs()).toBe(-2);
  });

  test("a lead of less than 10 ms that is proven by chance costs 10 ms, not the interval", () => {
    const machine = createMachine(8);
    machine.pass(498);
    machine.request(0, 1);
    expect(machine.skewMs()).toBeGreaterThan(0);
    expect(machine.offsetMs()).toBe(-10);
  });
});

describe("a clock that is set", () => {
  test.each([-3_000, -600, 600])("by %i ms: the correction follows at once", (ms) => {
    const machine = createMachine(2_000);
    machine.traffic();
    machine.setWall(ms);
    expect(Math.abs(machine.correctedAhead() + 15)).toBeLessThanOrEqual(15);
  });

  test("forward by seconds: counts as it is until the next response, then it is corrected", () => {
    const machine = createMachine(0);
    machine.traffic();
    machine.setWall(3_000);
    expect([machine.skewMs(), machine.offsetMs()]).toEqual([0, -10]);
    machine.request(2, 2);
    expect(machine.skewMs()).toBeGreaterThan(2_970);
    expect(Math.abs(machine.correctedAhead() + 15)).toBeLessThanOrEqual(15);
  });

  test.each([-3_000, 3_000, -hour, hour])("the store's, by %i ms: two responses show it", (ms) => {
    const machine = createMachine(0);
    machine.traffic();
    machine.setStore(ms);
    machine.request(2, 2);
    expect(machine.skewMs()).toBe(0);
    machine.request(2, 2);
    expect(Math.abs(machine.skewMs() + ms)).toBeLessThanOrEqual(1_004);
    machine.traffic();
    expect(Math.abs(machine.skewMs() + ms)).toBeLessThan(30);
  });
});

describe("one response with a wrong Date", () => {
  /** A request that is answered by a host of the store whose clock is wrong. */
  const answerWrong = (machine: ReturnType<typeof createMachine>, ms: number) => {
    machine.setStore(ms);
    machine.request(2, 2);
    machine.setStore(-ms);
  };

  test.each([300, 3_000, 4_000, hour, -hour])("by %i ms changes nothing", (ms) => {
    const machine = createMachine(0);
    machine.traffic();
    const before = [machine.skewMs(), machine.offsetMs()];
    answerWrong(machine, ms);
    expect([machine.skewMs(), machine.offsetMs()]).toEqual(before);
    machine.request(2, 2);
    expect([machine.skewMs(), machine.offsetMs()]).toEqual(before);
  });

  test.each([-300, -1_200, -4_000])(
    "by %i ms: the slower clock counts, until the next one",
    (ms) => {
      const machine = createMachine(0);
      machine.traffic();
      const before = machine.offsetMs();
      answerWrong(machine, ms);
      expect(machine.skewMs()).toBe(0);
      expect(machine.offsetMs()).toBeLessThanOrEqual(before);
      expect(machine.offsetMs()).toBeGreaterThan(ms - 1_010);
      machine.request(2, 2);
      expect(machine.offsetMs()).toBe(before);
    },
  );

  test("and another one that agrees with neither: the clock stays", () => {
    const machine = createMachine(0);
    machine.traffic();
    for (const ms of [hour, -hour, 4_000, -hour]) answerWrong(machine, ms);
    expect(machine.skewMs()).toBe(0);
    expect(Math.abs(machine.correctedAhead() + 15)).toBeLessThanOrEqual(15);
  });

  test("by any time among right ones never puts the clock ahead, or off by 5 s", () => {
    const wrongMs = fc.oneof(
      fc.integer({ min: -5_000, max: 5_000 }),
      fc.integer({ min: -hour, max: hour }),
    );
    const drift = fc.double({ min: -0.0004, max: 0.0004, noNaN: true });
    const responses = fc.array(fc.option(wrongMs), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(drift, responses, (rate, all) => {
        const machine = createMachine(0, rate);
        machine.traffic();
        for (const [i, ms] of all.entries()) {
          // Never two wrong ones in a row.
          if (ms === null || (i > 0 && all[i - 1] !== null)) machine.request(2, 2);
          else answerWrong(machine, ms);
          machine.pass(16);
          expect(machine.correctedAhead()).toBeLessThanOrEqual(leftOf(machine) + rounding);
          expect(Math.abs(machine.skewMs())).toBeLessThan(30);
        }
        machine.request(2, 2);
        expect(machine.correctedAhead()).toBeGreaterThan(-50);
      }),
    );
  });
});

describe("a machine that is suspended", () => {
  test.each([1_500, hour])("for %i ms: its wall clock counts, which went on", (ms) => {
    const machine = createMachine(0);
    machine.traffic();
    machine.suspend(ms);
    expect([machine.skewMs(), machine.offsetMs()]).toEqual([0, -10]);
    machine.request(2, 2);
    expect(machine.skewMs()).toBe(0);
    expect(machine.offsetMs()).toBeGreaterThanOrEqual(-10);
  });

  test("during a request: its response proves nothing", () => {
    const machine = createMachine(0);
    machine.traffic();
    machine.request(2, 2, () => machine.suspend(hour));
    expect([machine.skewMs(), machine.offsetMs()]).toEqual([0, -10]);
    machine.traffic();
    expect(Math.abs(machine.correctedAhead() + 5)).toBeLessThanOrEqual(5);
  });
});
