/** What a benchmark is: its names, how it runs, and its results. */

/** One result, as it is stored in `bench/results.json`. */
export interface Result {
  readonly name: string;
  /** A ratio within one run, or a count that does not depend on the machine. */
  readonly value: number;
  readonly unit: string;
  /** Such as `>= 0.75`; empty for a value without a target. */
  readonly target: string;
  /** What the value is relative to; empty for a count. */
  readonly baseline: string;
}

/** The size of a run: full, or quick, which only shows that everything runs. */
export interface Scale {
  readonly quick: boolean;
  /** Returns `full`, or `quick` in a quick run. */
  pick<T>(full: T, quick: T): T;
  /** Prints a line with the measurements behind the values. */
  note(line: string): void;
}

export interface Benchmark {
  /** The names of its results. `--only` takes one of them or their common beginning. */
  readonly names: readonly string[];
  run(scale: Scale): Promise<readonly Result[]>;
}

/** True when the value is within its target. */
export function meets({ value, target }: Result): boolean {
  const [relation, limit] = target.split(" ");
  if (relation === ">=") return value >= Number(limit);
  if (relation === "<=") return value <= Number(limit);
  return true;
}
