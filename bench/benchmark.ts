/** What a benchmark is: its names, how it runs, and its results. */

/** One result, as a benchmark returns it. */
export interface Result {
  readonly name: string;
  /** A ratio within one run, or a count. */
  readonly value: number;
  readonly unit: string;
  /** Such as `>= 0.75`; empty for a value without a target. */
  readonly target: string;
  /** What the value is relative to; empty for a count. */
  readonly baseline: string;
  /** The same value of each turn, when the benchmark measures it several times. */
  readonly turns?: readonly number[];
  /** True for a count that other work on the machine does not change, such as write units. */
  readonly counted?: true;
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
  /** Compares with another system that has to be installed: it runs only with `--peers`. */
  readonly peers?: true;
  run(scale: Scale): Promise<readonly Result[]>;
}
