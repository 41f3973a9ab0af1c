/** Tests that the position of a subscription is stored by one process only. */
import { expect, test } from "vitest";
import { createProgress } from "../../../src/events/use-cases/subscription-progress.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const at = (number: number) => ({ logId: "log", number, index: 0 });

/** Two processes with the same subscription. */
function twoProcesses() {
  const memory = memoryDeps();
  const [one, other] = [memory.process(), memory.process()];
  return { memory, one: createProgress(one, "orders"), other: createProgress(other, "orders") };
}

test("stores a new state, and reads it", async () => {
  const { one, other } = twoProcesses();
  expect(await one.load()).toBeUndefined();
  expect(await one.save(at(1))).toBe(true);
  expect(await one.save({ ...at(2), time: 5, failingSince: 6, failure: "x" })).toBe(true);
  expect(await other.load()).toEqual({ ...at(2), time: 5, failingSince: 6, failure: "x" });
});

test("a process that has not read the latest state changes nothing", async () => {
  const { one, other } = twoProcesses();
  await one.load();
  await one.save(at(1));
  await other.load();
  expect(await other.save(at(2))).toBe(true);
  expect(await one.save(at(5))).toBe(false);
  expect(await other.load()).toEqual(at(2));
  await one.load();
  expect(await one.save(at(5))).toBe(true);
});

test("two new ones: one of them begins", async () => {
  const { one, other } = twoProcesses();
  await Promise.all([one.load(), other.load()]);
  const saved = await Promise.all([one.save(at(1)), other.save(at(7))]);
  expect(saved.filter(Boolean)).toHaveLength(1);
});

test("the same state is not written again", async () => {
  const { memory, one } = twoProcesses();
  await one.load();
  await one.save(at(1));
  memory.store.resetStats();
  expect(await one.save(at(1))).toBe(true);
  expect(memory.store.stats.commits).toBe(0);
});
