/** Tests the plan of the faults, and how faults of one part and of several parts follow. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Fault, injectFaults, planFaults } from "./faults.ts";

const kindsOf = {
  "server 1": ["killed", "stopped", "cut off"],
  "the store": ["stopped", "cut off"],
};
const hourMs = 3_600_000;

test("a seed gives the same faults again, another seed others", () => {
  expect(planFaults(1, hourMs, kindsOf)).toEqual(planFaults(1, hourMs, kindsOf));
  expect(planFaults(1, hourMs, kindsOf)).not.toEqual(planFaults(2, hourMs, kindsOf));
});

test("a fault begins every 3 to 8 s, and ends within 6 s", () => {
  const plan = planFaults(3, hourMs, kindsOf);
  const gaps = plan.map(({ atMs }, i) => atMs - (plan[i - 1]?.atMs ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3_000);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(8_000);
  expect(Math.max(...plan.map(({ forMs }) => forMs))).toBeLessThanOrEqual(6_000);
});

test("each part has each of its faults, and no other", () => {
  const kinds = new Set(planFaults(4, hourMs, kindsOf).map(({ part, kind }) => `${part} ${kind}`));
  const all = Object.entries(kindsOf).flatMap(([part, some]) =>
    some.map((kind) => `${part} ${kind}`),
  );
  expect([...kinds].sort()).toEqual(all.sort());
});

/** Injects faults that wait for `beginMs` to begin, and returns what happened in order. */
async function injected(plan: readonly Fault[], over = new AbortController().signal) {
  const events: string[] = [];
  const begin = (name: string) => async () => {
    events.push(`${name} begins`);
    await sleep(20);
    return async () => void events.push(`${name} ends`);
  };
  const faults = { a: { killed: begin("a") }, b: { killed: begin("b") } };
  await injectFaults(plan, faults, { over, onFault: () => {} });
  return events;
}

const fault = (part: string, atMs: number, forMs: number) => ({
  part,
  kind: "killed",
  atMs,
  forMs,
});

test("faults of two parts overlap, those of one part do not", async () => {
  const both = [fault("a", 0, 200), fault("b", 1, 400)];
  expect(await injected(both)).toEqual(["a begins", "b begins", "a ends", "b ends"]);
  const one = [fault("a", 0, 100), fault("a", 1, 1)];
  expect(await injected(one)).toEqual(["a begins", "a ends", "a begins", "a ends"]);
});

test("a run that is over ends its faults at once, and begins no other", async () => {
  const over = new AbortController();
  setTimeout(() => over.abort(), 50);
  const plan = [fault("a", 0, hourMs), fault("a", 1, 1), fault("b", hourMs, 1)];
  expect(await injected(plan, over.signal)).toEqual(["a begins", "a ends"]);
});
