/** Decides which successful calls are logged. */

/** The calls a second that are all logged; of further calls, one in `sampleEvery` is logged. */
const allPerSecond = 50;
const sampleEvery = 100;

/** Returns a function that says for how much a call is logged: 1, 0.01, or 0 for not at all. */
export function createSampler(now: () => number = () => performance.now()): () => number {
  let second = Number.NEGATIVE_INFINITY;
  let calls = 0;
  let skipped = 0;
  return () => {
    const current = Math.floor(now() / 1_000);
    if (current !== second) [second, calls] = [current, 0];
    calls += 1;
    if (calls <= allPerSecond) return 1;
    skipped = (skipped + 1) % sampleEvery;
    return skipped === 0 ? 1 / sampleEvery : 0;
  };
}
