/** Says what a result is worth: whether it is within its target, and what speaks against it. */
import type { Result } from "../benchmark.ts";
import { median } from "../support/numbers.ts";
import type { StoredResult } from "./stored.ts";

/** Above this share of the machine's CPU time, other processes may have set the value. */
const noisyAbove = 0.1;

/** `met` or `MISSED`, unless it is `noisy` or has no target, and why the value may not be today's. */
export function verdictOf(result: StoredResult, currentCode: string | undefined): string[] {
  const { run, counted, target } = result;
  const isNoisy = !counted && (run?.foreignLoad ?? 0) > noisyAbove;
  const judged = isNoisy ? ["noisy"] : target === "" ? [] : [meets(result) ? "met" : "MISSED"];
  if (!run) return [...judged, "no run known"];
  return run.code === currentCode ? judged : [...judged, "older than the code"];
}

function meets({ value, target }: Result): boolean {
  const [relation, limit] = target.split(" ");
  if (relation === ">=") return value >= Number(limit);
  if (relation === "<=") return value <= Number(limit);
  throw new Error(`${target} is no target`);
}

/** The least, the middle and the greatest turn; empty without turns. */
export function spreadOf({ turns = [] }: Pick<Result, "turns">): number[] {
  return turns.length === 0 ? [] : [Math.min(...turns), median(turns), Math.max(...turns)];
}
