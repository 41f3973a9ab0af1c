/** How fast a run executes rows, and how long the rows that are left will take. */
import type { BulkGrantView } from "../../src/bulk-grants/contract/bulk-grants.ts";

/** The number of results that the pace is measured over: about two of each range. */
const maxSamples = 9;

interface Sample {
  readonly at: number;
  readonly done: number;
}

/**
 * Returns a function that is called with each view, and writes the pace as a line of Markdown. None
 * is written before two results, while nothing is executed, and of a retry, which passes over most
 * rows.
 */
export function createPace(): (view: BulkGrantView) => string[] {
  let samples: readonly Sample[] = [];
  return ({ step, run, row_count, counts }) => {
    if (step !== "RUN" || run !== 1) {
      samples = [];
      return [];
    }
    const done = counts.granted_count + counts.failed_count;
    const now = { at: Date.now(), done };
    samples = [...samples, now].slice(-maxSamples);
    const first = samples[0] ?? now;
    const perSecond = (1_000 * (done - first.done)) / (now.at - first.at);
    if (!(perSecond > 0 && Number.isFinite(perSecond))) return [];
    const left = row_count - counts.already_granted_count - done;
    const rows = perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en");
    return [`- pace: ${rows} rows a second, about ${durationOf(left / perSecond)} left`];
  };
}

/** Spells a number of seconds as `40 s`, `12 min` or `3 h 20 min`. */
function durationOf(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
