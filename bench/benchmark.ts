/** What a benchmark answers, as it stands in `bench/results.json`. */
export interface Result {
  readonly name: string;
  /** A ratio within one run, or a count that does not depend on the machine. */
  readonly value: number;
  readonly unit: string;
  /** Such as `>= 0.75`; empty where the number is only to be told. */
  readonly target: string;
  /** What it was compared with; empty for a count. */
  readonly baseline: string;
}

/** How long and how much: the real thing, or just enough to see that it runs. */
export interface Scale {
  readonly quick: boolean;
  /** The first for real, the second for a quick run. */
  pick<T>(real: T, quick: T): T;
  /** A line on what was measured behind the values. */
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
