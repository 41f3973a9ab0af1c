/** The results of the last whole run, as bench/results.json stores them. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Result } from "../benchmark.ts";

/** A run of all benchmarks, one after another. */
export interface Run {
  /** The commit, from which no file differed. */
  readonly commit: string;
  /** When the run began, in ISO 8601. */
  readonly time: string;
  readonly minutes: number;
  /** The model of the processors and their number. */
  readonly processor: string;
  /** The share of the machine's CPU time that other processes used; null: not measured. */
  readonly foreignLoad: number | null;
  /** The hash of the benchmarks (code.ts). */
  readonly code: string;
  /** The names of the results whose benchmark failed. */
  readonly failed: readonly string[];
}

/** A result, with the share of other processes while its benchmark ran. */
export interface MeasuredResult extends Result {
  readonly foreignLoad: number | null;
}

export interface Stored {
  /** Undefined until there was a run. */
  readonly run?: Run | undefined;
  readonly results: readonly MeasuredResult[];
}

const file = `${import.meta.dirname}/../results.json`;

export const readStored = (): Stored => JSON.parse(readFileSync(file, "utf8"));

/** Writes a line for the run and for each result. */
export function writeStored({ run, results }: Stored): void {
  const lines = results.map((result) => JSON.stringify(result));
  writeFileSync(file, `{"run":${JSON.stringify(run)},"results":[\n${lines.join(",\n")}\n]}\n`);
}
