/**
 * Checks that proto/ is compatible with the protos of other commits, by the rules of buf.yaml:
 *
 *   node tools/dev/breaking.ts            with `main` and with every release
 *   node tools/dev/breaking.ts REF ...    with these commits
 *
 * Fails on every break, except that a break with `main` is only printed while nothing is released.
 * Needs `generate.ts --fetch` before.
 */
import { join } from "node:path";
import { breaksSince, reviewBreaks } from "./contract-breaks.ts";
import { releases } from "./releases.ts";

const root = join(import.meta.dirname, "..", "..");

function main(refs: readonly string[]): boolean {
  const isReleased = releases.length > 0 || refs.length > 0;
  const bases = refs.length > 0 ? refs : ["main", ...releases.map(({ commit }) => commit)];
  const reviews = bases.map((ref) => reviewBreaks(ref, breaksSince(root, ref), isReleased));
  for (const line of reviews.flatMap(({ lines }) => lines)) console.log(line);
  return reviews.every(({ failed }) => !failed);
}

try {
  if (!main(process.argv.slice(2))) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
