/** Percentiles, medians, turns and rounding. */

/** The value below which `share` of the numbers lie (nearest rank); NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? Number.NaN;
}

/** The middle value, or the mean of the two values in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const pair = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]] as [number, number];
  return (pair[0] + pair[1]) / 2;
}

/** The value of a result that is measured several times, and the same value of each turn. */
export interface Turns {
  readonly value: number;
  readonly turns: readonly number[];
}

/** The value is the median of the turns. */
export const ofTurns = (turns: readonly number[]): Turns => ({
  value: round(median(turns)),
  turns: turns.map(round),
});

/** The same of the ratios of two sides, each turn of one over that of the other. */
export const ratioByTurns = (over: readonly number[], under: readonly number[]): Turns =>
  ofTurns(over.map((value, turn) => value / (under[turn] ?? Number.NaN)));

/** The value is the greatest of the turns. */
export const greatestOf = (turns: readonly number[]): Turns => ({
  value: round(Math.max(...turns)),
  turns: turns.map(round),
});

/** Rounds to three significant digits, which is more precise than any of the measurements. */
export const round = (value: number): number => Number(value.toPrecision(3));

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export const mean = (values: readonly number[]): number => sum(values) / values.length;
