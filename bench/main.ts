/**
 * `npm run bench [-- --only NAME] [--quick]`: runs the benchmarks one after another, prints a table
 * and writes `bench/results.json`. With `--only`, the results of other benchmarks stay as they
 * were. With `--quick`, which only shows that everything runs, nothing is written.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { meets, type Result, type Scale } from "./benchmark.ts";
import { benchmarks } from "./benchmarks.ts";

const file = `${import.meta.dirname}/results.json`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    quick: { type: "boolean", default: false },
  },
});

const chosen = benchmarks.filter(
  ({ names }) =>
    !values.only ||
    values.only.some((only) => names.some((name) => name === only || name.startsWith(`${only}.`))),
);
if (chosen.length === 0) {
  const names = benchmarks.flatMap((benchmark) => benchmark.names);
  console.error(`no such benchmark; there are:\n${names.join("\n")}`);
  process.exit(2);
}

const scale: Scale = {
  quick: values.quick,
  pick: (real, quick) => (values.quick ? quick : real),
  note: (line) => console.error(`  ${line}`),
};

// Child processes end with this process (see src/dev/stack/child.ts); its exit removes the files.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

let results = values.only ? await before() : [];
const fresh: Result[] = [];
for (const benchmark of chosen) {
  console.error(`${benchmark.names.join(", ")} …`);
  try {
    fresh.push(...(await benchmark.run(scale)));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  results = merge(results, fresh);
  if (!values.quick) await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
}
print(fresh);
process.exit();

async function before(): Promise<Result[]> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return [];
  }
}

/** In the order of the benchmarks. */
function merge(old: readonly Result[], now: readonly Result[]): Result[] {
  const all = new Map([...old, ...now].map((result) => [result.name, result]));
  return benchmarks.flatMap(({ names }) => names.flatMap((name) => all.get(name) ?? []));
}

function print(rows: readonly Result[]): void {
  const head = ["name", "value", "unit", "target", "", "baseline"];
  const cells = rows.map((row) => [
    row.name,
    String(row.value),
    row.unit,
    row.target,
    row.target === "" ? "" : meets(row) ? "met" : "MISSED",
    row.baseline,
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...cells].map((c) => (c[i] ?? "").length)));
  for (const row of [head, ...cells]) {
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
}
