/** Reads the lists of the known deviations, one a line; a line with # is the reason of the next. */
import { readFileSync } from "node:fs";

/** The deviations in a file of `test/others`, sorted. */
export function readDeviations(name: string): string[] {
  const text = readFileSync(`${import.meta.dirname}/../../others/${name}`, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .sort();
}
