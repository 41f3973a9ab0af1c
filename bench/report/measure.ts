/** Runs one benchmark, with the share of other processes and its time, and reads the conditions. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import type { Benchmark, Scale } from "../benchmark.ts";
import { foreignShare, readCpuTimes } from "./foreign-load.ts";
import type { MeasuredResult } from "./stored.ts";

/** What some work took, and the share that other processes used of the machine's CPU time. */
export interface Measured<T> {
  readonly value: T;
  readonly seconds: number;
  readonly foreignLoad: number | null;
}

export async function measured<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const [start, before] = [performance.now(), await readCpuTimes()];
  const value = await work();
  const share = foreignShare(before, await readCpuTimes());
  const foreignLoad = share === undefined ? null : Number(share.toFixed(3));
  return { value, seconds: (performance.now() - start) / 1_000, foreignLoad };
}

/** Runs a benchmark, and notes how long it took. */
export async function measure({ run }: Benchmark, scale: Scale): Promise<MeasuredResult[]> {
  const { value, seconds, foreignLoad } = await measured(() => run(scale));
  scale.note(`took ${seconds.toFixed(0)} s`);
  return value.map((result) => ({ ...result, foreignLoad }));
}

/** The commit of the work tree; undefined when files differ from it. */
export function readCommit(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  // The files that a run writes do not count.
  const others = [":/", ":!/bench/results.json", ":!/docs/change/benchmarks.md"];
  return git("status", "--porcelain", "--", ...others) === ""
    ? git("rev-parse", "HEAD")
    : undefined;
}

/** The model of the processors and their number. */
export function readProcessor(): string {
  const [first, ...more] = cpus();
  return `${first?.model.trim()}, ${more.length + 1} cores`;
}
