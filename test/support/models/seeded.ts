/** Checks a property on random values, whose seed is printed or known. */
import { randomInt } from "node:crypto";
import { relative } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";

const { TEST_MODEL_SEED, TEST_MODEL_PATH } = process.env;

/** Random values that are always the same. */
export interface Seed {
  readonly seed: number;
  /** Where the values begin, as a failure prints it; at the first one when left out. */
  readonly path?: string;
  readonly numRuns: number;
}

/**
 * The seed in TEST_MODEL_SEED, or else the known one, or a fresh one when none is known. A fresh
 * one is printed with the command that plays the same again.
 */
export function seedOr(known: number | null): number {
  if (TEST_MODEL_SEED) return Number(TEST_MODEL_SEED);
  if (known !== null) return known;
  const seed = randomInt(2 ** 31);
  const file = relative(process.cwd(), expect.getState().testPath ?? "");
  console.info(`Played again by: TEST_MODEL_SEED=${seed} npm run test:soak -- ${file}`);
  return seed;
}

/**
 * Checks a property on fresh random values. TEST_MODEL_SEED and TEST_MODEL_PATH, as a failure
 * prints them, give the same values again. Fails when it takes longer than `ms`.
 */
export async function assertSeeded<T>(
  property: fc.IAsyncProperty<T>,
  numRuns: number,
  ms: number,
): Promise<void> {
  const seed = seedOr(null);
  const path = TEST_MODEL_PATH;
  await assertSeed(property, { seed, numRuns, ...(path && { path }) }, ms);
}

/** As `assertSeeded`, on the values of known seeds unless TEST_MODEL_SEED names another one. */
export async function assertSeeds<T>(
  property: fc.IAsyncProperty<T>,
  seeds: readonly Seed[],
  ms = 240_000,
): Promise<void> {
  const numRuns = seeds.reduce((sum, each) => sum + each.numRuns, 0);
  if (TEST_MODEL_SEED) return assertSeeded(property, numRuns, ms);
  for (const seed of seeds) await assertSeed(property, seed, ms);
}

const assertSeed = <T>(property: fc.IAsyncProperty<T>, seed: Seed, ms: number): Promise<void> =>
  fc.assert(property, {
    ...seed,
    interruptAfterTimeLimit: ms,
    markInterruptAsFailure: true,
    // The failure at a path is known: only others are made smaller, which takes minutes.
    endOnFailure: seed.path !== undefined,
    asyncReporter: report,
  });

/** Fails as fast-check does by itself; above its message is what plays only the failure again. */
async function report<T>(run: fc.RunDetails<T>): Promise<void> {
  const message = await fc.asyncDefaultReportMessage(run);
  if (message === undefined) return;
  const { seed, counterexamplePath: path, errorInstance: cause } = run;
  const replay = path === null ? "" : `TEST_MODEL_SEED=${seed} TEST_MODEL_PATH=${path}\n`;
  throw new Error(replay + message, { cause });
}
