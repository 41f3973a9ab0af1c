/** Computes a hash of the benchmarks, by which the page says whether they have changed since. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { withoutComments } from "../../test/support/tidy.ts";

const folder = `${import.meta.dirname}/..`;

/** A hash of what measures: the cases, their baselines and their support, without comments. */
export function codeHash(): string {
  const files = globSync(["*.ts", "{cases,baselines,support}/*.ts"], { cwd: folder }).sort();
  const hash = createHash("sha256");
  for (const file of files) {
    if (file === "main.ts" || file === "tables.ts") continue;
    hash.update(`${file}\n${withoutComments(readFileSync(`${folder}/${file}`, "utf8"))}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}
