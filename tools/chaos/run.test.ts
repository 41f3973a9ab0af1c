/** Tests that a run whose calls fail does not pass, although nothing that it has sent is wrong. */
import { expect, test } from "vitest";
import { startMemoryServer } from "../../test/support/servers/server.ts";
import { callEach } from "./final-state.ts";
import { wrongCounts } from "./run.ts";

test("a service without an acknowledged change is wrong", () => {
  const one = { acknowledged: 1, refused: 0, unknown: 0 };
  const none = { acknowledged: 0, refused: 4, unknown: 1 };
  expect(wrongCounts({ points: one, programs: one })).toEqual([]);
  expect(wrongCounts({ points: one, programs: none })).toEqual([
    "of programs no change was acknowledged",
  ]);
});

test("a run with fewer acknowledged changes than ones without an answer is wrong", () => {
  const counts = (unknown: number) => ({
    points: { acknowledged: 2, refused: 9, unknown },
    programs: { acknowledged: 1, refused: 9, unknown: 1 },
  });
  expect(wrongCounts(counts(2))).toEqual([]);
  expect(wrongCounts(counts(3))).toEqual(["4 changes had no answer, and 3 were acknowledged"]);
});

test("a process that does not answer after the faults is wrong", async () => {
  const server = await startMemoryServer();
  const stopped = new AbortController();
  const alive = { name: "server 1", call: () => server.health.check({}) };
  let calls = 0;
  const dead = {
    name: "events 2",
    async call() {
      calls++;
      throw new Error("away");
    },
  };
  expect(await callEach([alive, dead], 100, stopped.signal)).toEqual([
    "events 2 does not answer after the last fault: Error: away",
  ]);
  expect(calls).toBeGreaterThan(1);
  await server.stop();
  stopped.abort();
  expect(await callEach([dead], 60_000, stopped.signal)).toEqual([]);
});
