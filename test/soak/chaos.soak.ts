/**
 * Runs chaos for ten minutes: two servers, two workers, Temporal and the store are killed, stopped
 * and cut off under clients of all services. What is due is done within eight minutes after the
 * last fault; how late it was before is not checked. TEST_CHAOS_SEED plays the faults of a seed
 * again.
 */
import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { runChaos } from "../../tools/chaos/run.ts";
import { inGroups } from "../../tools/chaos/wrong.ts";

const seed = Number(process.env.TEST_CHAOS_SEED ?? randomInt(2 ** 31));
const minutes = 10;

/** More than all limits of a run together. */
const mostMs = 30 * 60_000;

const title = `${minutes} minutes of chaos: all is done in the end, once, not early (${seed})`;

test(title, { timeout: mostMs }, async () => {
  const never = new AbortController().signal;
  const result = await runChaos({ minutes, seed }, console.info, never);
  expect(inGroups(result?.wrong ?? ["there is no result"])).toEqual([]);
  // There has been each kind of fault.
  const kinds = new Set(result?.faults.map(({ kind }) => kind.split(" ")[0]));
  expect([...kinds].sort()).toEqual(["cut", "killed", "stopped", "without"]);
});
