/** The results of the last run of each benchmark, as bench/results.json stores them. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Result } from "../benchmark.ts";

/** Under what conditions a result was measured. */
export interface RunInfo {
  readonly commit: string;
  /** Whether files differed from the commit. */
  readonly changed: boolean;
  /** When the benchmark began, in ISO 8601. */
  readonly time: string;
  /** The model of the processors and their number. */
  readonly processor: string;
  /** The share of the machine's CPU time that other processes used; null: not measured. */
  readonly foreignLoad: number | null;
  /** The hash of the code that was measured (code.ts). */
  readonly code: string;
}

export interface StoredResult extends Result {
  /** Undefined for results that were stored before they had one. */
  readonly run?: RunInfo;
}

const file = `${import.meta.dirname}/../results.json`;

export const readResults = (): StoredResult[] => JSON.parse(readFileSync(file, "utf8"));

/** Writes a line for each result. */
export function writeResults(results: readonly StoredResult[]): void {
  const lines = results.map((result) => JSON.stringify(result));
  writeFileSync(file, `[\n${lines.join(",\n")}\n]\n`);
}

/** The new results and the old ones that they do not replace, in the order of the names. */
export function merge(
  names: readonly string[],
  old: readonly StoredResult[],
  fresh: readonly StoredResult[],
): StoredResult[] {
  const all = new Map([...old, ...fresh].map((result) => [result.name, result]));
  return names.flatMap((name) => all.get(name) ?? []);
}
