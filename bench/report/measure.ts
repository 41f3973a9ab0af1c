/** Runs one benchmark, and adds to its results under what conditions they were measured. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import type { Benchmark, Scale } from "../benchmark.ts";
import { foreignShare, readCpuTimes } from "./foreign-load.ts";
import type { RunInfo, StoredResult } from "./stored.ts";

/** What is the same for all benchmarks of a run. */
export type Conditions = Pick<RunInfo, "commit" | "changed" | "processor">;

/** Runs a benchmark whose code has this hash. */
export async function measure(
  { run }: Benchmark,
  scale: Scale,
  conditions: Conditions,
  code: string,
): Promise<StoredResult[]> {
  const time = new Date().toISOString();
  const before = await readCpuTimes();
  const results = await run(scale);
  const share = foreignShare(before, await readCpuTimes());
  const foreignLoad = share === undefined ? null : Number(share.toFixed(3));
  return results.map((result) => ({ ...result, run: { ...conditions, time, foreignLoad, code } }));
}

/** Reads the commit of the work tree, and the model of the processors. */
export function readConditions(): Conditions {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  // What a run writes itself is no change.
  const others = [":/", ":!/bench/results.json", ":!/docs/benchmarks.md"];
  const [first, ...more] = cpus();
  return {
    commit: git("rev-parse", "HEAD"),
    changed: git("status", "--porcelain", "--", ...others) !== "",
    processor: `${first?.model.trim()}, ${more.length + 1} cores`,
  };
}
