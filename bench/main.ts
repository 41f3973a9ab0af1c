/**
 * Runs the benchmarks one after another and prints a table. A run of all of them, on the commit as
 * it is, also writes `bench/results.json` and the tables of `docs/change/benchmarks.md`.
 *
 *   npm run bench                    all of them
 *   npm run bench -- --peers         also the comparison with pg-boss; Postgres has to be installed
 *   npm run bench -- --only NAME     some of them; writes nothing
 *   npm run bench -- --quick         shows that everything runs; writes nothing
 *   npm run bench -- --docs          runs nothing; writes the tables from the stored results
 *   npm run bench -- --check         changes nothing; exits 1 and prints what --docs would change
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Benchmark, Scale } from "./benchmark.ts";
import { benchmarks } from "./benchmarks.ts";
import { codeHash } from "./report/code.ts";
import { differences, type Report, withTables, wrongNames } from "./report/docs.ts";
import { measure, measured, readCommit, readProcessor } from "./report/measure.ts";
import { print } from "./report/print.ts";
import { type MeasuredResult, readStored, writeStored } from "./report/stored.ts";
import { findPostgres } from "./support/postgres.ts";
import { tables } from "./tables.ts";

const page = "docs/change/benchmarks.md";
const document = `${import.meta.dirname}/../${page}`;

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
const scale: Scale = {
  quick: values.quick,
  pick: (real, quick) => (values.quick ? quick : real),
  note: (line) => console.error(`  ${line}`),
};

if (values.check) check();
else if (values.docs) writeDocs();
else await run();
// Some cases leave connections open.
process.exit();

function check(): void {
  const report = readReport();
  const text = readFileSync(document, "utf8");
  const different = differences(text, withTables(text, report));
  if (different.length > 0) {
    different.unshift(`${page} is not as generated; run \`npm run bench -- --docs\`:`);
  }
  const problems = [...wrongNames(text, report), ...different];
  if (problems.length === 0) return;
  console.error(problems.join("\n"));
  process.exitCode = 1;
}

function writeDocs(): void {
  writeFileSync(document, withTables(readFileSync(document, "utf8"), readReport()));
}

function readReport(): Report {
  return { declared, stored: readStored(), tables, code: codeHash() };
}

async function run(): Promise<void> {
  const chosen = await choose();
  const isWhole = !values.only && !values.quick;
  const commit = readCommit();
  if (isWhole && !commit) {
    end("a whole run is of one commit: commit the changed files, or name benchmarks with --only");
  }
  // Child processes end with this process (tools/dev/stack/child.ts); its exit removes the files.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(130));
  const [code, time] = [codeHash(), new Date().toISOString()];
  const { value, seconds, foreignLoad } = await measured(() => runAll(chosen));
  const { results, failed } = value;
  print(results);
  const minutes = Math.round(seconds / 60);
  console.error(`took ${minutes} minutes`);
  if (failed.length > 0) {
    console.error(`failed: ${failed.join(", ")}`);
    process.exitCode = 1;
  }
  if (!isWhole || !commit) return;
  if (readCommit() !== commit) end("files have changed since the start: nothing is written");
  const processor = readProcessor();
  writeStored({
    run: { commit, time, minutes, processor, foreignLoad, code, failed },
    results,
  });
  writeDocs();
}

/** The benchmarks that the options name. Ends the process when they name none. */
async function choose(): Promise<readonly Benchmark[]> {
  if (values.peers && !(await findPostgres())) {
    end("--peers: Postgres is not installed (looked for pg_config, /usr/lib/postgresql)");
  }
  const isNamed = (name: string) =>
    !values.only || values.only.some((only) => name === only || name.startsWith(`${only}.`));
  const chosen = benchmarks.filter(
    ({ names, peers }) => (!peers || values.peers) && names.some(isNamed),
  );
  if (chosen.length > 0) return chosen;
  return end(`no such benchmark (or --peers is missing); there are:\n${declared.join("\n")}`);
}

async function runAll(chosen: readonly Benchmark[]) {
  const results: MeasuredResult[] = [];
  const failed: string[] = [];
  for (const benchmark of chosen) {
    console.error(`${benchmark.names.join(", ")} …`);
    try {
      results.push(...(await measure(benchmark, scale)));
    } catch (error) {
      console.error(error);
      failed.push(...benchmark.names);
    }
  }
  return { results, failed };
}

function end(reason: string): never {
  console.error(reason);
  process.exit(2);
}
