/** Checks a property from a seed that is printed, so that a failure can be repeated. */
import { randomInt } from "node:crypto";
import fc from "fast-check";

const { MEGURI_MODEL_SEED, MEGURI_MODEL_PATH } = process.env;

/**
 * Checks a property on random values. MEGURI_MODEL_SEED and MEGURI_MODEL_PATH, as a failure prints
 * them, give the same values again. Fails when it takes longer than `ms`.
 */
export async function assertSeeded<T>(
  property: fc.IAsyncProperty<T>,
  numRuns: number,
  ms = 240_000,
): Promise<void> {
  const seed = Number(MEGURI_MODEL_SEED ?? randomInt(2 ** 31));
  console.info(`MEGURI_MODEL_SEED=${seed}`);
  await fc.assert(property, {
    numRuns,
    seed,
    ...(MEGURI_MODEL_PATH && { path: MEGURI_MODEL_PATH }),
    interruptAfterTimeLimit: ms,
    markInterruptAsFailure: true,
  });
}
