/** Prints the results of a run as a table of text. */
import type { MeasuredResult } from "./stored.ts";
import { loadOf, spreadOf, verdictOf } from "./verdict.ts";

export function print(results: readonly MeasuredResult[]): void {
  const head = ["name", "value", "turns", "unit", "target", "", "others", "baseline"];
  const cells = results.map((result) => [
    result.name,
    String(result.value),
    spreadOf(result).join(" / "),
    result.unit,
    result.target,
    verdictOf(result),
    loadOf(result.foreignLoad),
    result.baseline,
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...cells].map((c) => (c[i] ?? "").length)));
  for (const row of [head, ...cells]) {
    const padded = row.map((cell, i) => cell.padEnd(widths[i] ?? 0));
    console.log(padded.join("  ").trimEnd());
  }
}
