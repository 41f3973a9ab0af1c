/** Computes how fast the rows of a run are done, and when they will be. */

/** How long the rate looks back: a run pauses between its blocks. */
const windowMs = 30_000;

/** The speed of a run and the time that its other rows take; absent while nothing is known. */
export interface RowRate {
  readonly rowsPerSecond?: number;
  readonly secondsLeft?: number;
}

/** Returns a function that takes how many rows are done, of how many, and at which time in ms. */
export function createRowRate(): (done: number, total: number, nowMs: number) => RowRate {
  let samples: { readonly done: number; readonly time: number }[] = [];
  return (done, total, time) => {
    // The rows of another run are counted anew.
    if (done < (samples.at(-1)?.done ?? 0)) samples = [];
    samples.push({ done, time });
    while ((samples[1]?.time ?? time) <= time - windowMs) samples.shift();
    const [first = { done, time }] = samples;
    const seconds = (time - first.time) / 1_000;
    const rows = done - first.done;
    if (seconds <= 0 || rows <= 0) return {};
    const rowsPerSecond = rows / seconds;
    return { rowsPerSecond, secondsLeft: Math.ceil((total - done) / rowsPerSecond) };
  };
}
