/**
 * Gives properties that name no seed the same random values in each run, so that a change that
 * broke nothing fails no test. TEST_MODEL_SEED gives them others.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.TEST_MODEL_SEED ?? 20_261_123) });
