/** Judges a result: whether it is within its target. */
import type { Result } from "../benchmark.ts";
import { median, round } from "../support/numbers.ts";
import type { MeasuredResult } from "./stored.ts";

/** Above this share of the machine's CPU time, other processes may have set the value. */
const noisyAbove = 0.1;

/** `met`, `MISSED`, or `noisy` when other processes may have set the value; empty: no target. */
export function verdictOf(result: MeasuredResult): string {
  const { foreignLoad, counted, target } = result;
  if (!counted && (foreignLoad ?? 0) > noisyAbove) return "noisy";
  if (target === "") return "";
  return meets(result) ? "met" : "MISSED";
}

/** The share of the CPU time that other processes used, in percent. */
export const loadOf = (foreignLoad: number | null): string =>
  foreignLoad === null ? "not measured" : `${(100 * foreignLoad).toFixed(1)} %`;

function meets({ value, target }: Result): boolean {
  const [relation, limit] = target.split(" ");
  if (relation === ">=") return value >= Number(limit);
  if (relation === "<=") return value <= Number(limit);
  throw new Error(`${target} is no target`);
}

/** The least, the middle and the greatest turn; empty without turns. */
export function spreadOf({ turns = [] }: Pick<Result, "turns">): number[] {
  if (turns.length === 0) return [];
  return [Math.min(...turns), round(median(turns)), Math.max(...turns)];
}
