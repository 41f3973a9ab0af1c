/**
 * Runs the benchmarks one after another, prints a table, and writes `bench/results.json` and the
 * tables of `docs/benchmarks.md`.
 *
 *   npm run bench                    all of them
 *   npm run bench -- --only NAME     some of them; all other results stay as they were
 *   npm run bench -- --peers         also the comparisons with Postgres, which has to be installed
 *   npm run bench -- --quick         shows that everything runs; writes nothing
 *   npm run bench -- --docs          runs nothing; writes the tables from the stored results
 *   npm run bench -- --check         changes nothing; exits 1 and prints what --docs would change
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Scale } from "./benchmark.ts";
import { benchmarks } from "./benchmarks.ts";
import { codeHashes } from "./report/code.ts";
import { differences, type Report, withTables, wrongNames } from "./report/docs.ts";
import { measure, readConditions } from "./report/measure.ts";
import { print } from "./report/print.ts";
import { merge, readResults, type StoredResult, writeResults } from "./report/stored.ts";
import { findPostgres } from "./support/postgres.ts";
import { tables } from "./tables.ts";

const document = `${import.meta.dirname}/../docs/benchmarks.md`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    quick: { type: "boolean", default: false },
    docs: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    peers: { type: "boolean", default: false },
  },
});

const declared = benchmarks.flatMap(({ names }) => names);
const code = await codeHashes(benchmarks);

if (values.check) check();
else if (values.docs) writeDocs(readResults());
else await run();
// Some cases leave connections open.
process.exit();

function check(): void {
  const report = reportOf(readResults());
  const text = readFileSync(document, "utf8");
  const different = differences(text, withTables(text, report));
  if (different.length > 0) {
    different.unshift("docs/benchmarks.md is not as generated; run `npm run bench -- --docs`:");
  }
  const problems = [...wrongNames(text, report), ...different];
  if (problems.length === 0) return;
  console.error(problems.join("\n"));
  process.exitCode = 1;
}

function writeDocs(results: readonly StoredResult[]): void {
  writeFileSync(document, withTables(readFileSync(document, "utf8"), reportOf(results)));
}

function reportOf(results: readonly StoredResult[]): Report {
  return { declared, results, tables, code };
}

async function run(): Promise<void> {
  if (values.peers && !(await findPostgres())) {
    console.error("--peers: Postgres is not installed (looked for pg_config, /usr/lib/postgresql)");
    process.exit(2);
  }
  const chosen = benchmarks.filter(
    ({ names, peers }) =>
      (!peers || values.peers) &&
      (!values.only ||
        values.only.some((only) =>
          names.some((name) => name === only || name.startsWith(`${only}.`)),
        )),
  );
  if (chosen.length === 0) {
    console.error(`no such benchmark (or --peers is missing); there are:\n${declared.join("\n")}`);
    process.exit(2);
  }
  // Child processes end with this process (src/dev/stack/child.ts); its exit removes the files.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(130));
  const scale: Scale = {
    quick: values.quick,
    pick: (real, quick) => (values.quick ? quick : real),
    note: (line) => console.error(`  ${line}`),
  };
  const conditions = readConditions();
  let results = readResults();
  const fresh: StoredResult[] = [];
  for (const benchmark of chosen) {
    const { names } = benchmark;
    console.error(`${names.join(", ")} …`);
    // What was not reached stays when a run is ended, and no old result stays when one fails.
    results = results.filter(({ name }) => !names.includes(name));
    try {
      fresh.push(...(await measure(benchmark, scale, conditions, code.get(names[0] ?? "") ?? "")));
    } catch (error) {
      console.error(error);
      process.exitCode = 1;
    }
    results = merge(declared, results, fresh);
    if (values.quick) continue;
    writeResults(results);
    writeDocs(results);
  }
  print(fresh);
}
