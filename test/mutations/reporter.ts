/** Prints the score of each file, the changes that no test noticed, and the tests that add none. */
import { posix } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/** A small change of the source. */
export type Mutant = {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** What is changed, and into what. */
  readonly change: string;
};

export class MutationReporter implements Reporter {
  readonly #mutants: readonly Mutant[];

  constructor(mutants: readonly Mutant[]) {
    this.#mutants = mutants;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tried = new Set<string>();
    /** How many tests noticed each change. */
    const killers = new Map<string, number>();
    const left = new Map<string, number>();
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => {
        const name = `${module.relativeModuleId} > ${test.fullName}`;
        return { name, ...test.meta().mutations };
      }),
    );
    for (const test of tests) {
      for (const id of test.tried ?? []) tried.add(id);
      for (const id of test.killed ?? []) killers.set(id, (killers.get(id) ?? 0) + 1);
      const reason = test.tried ? test.left : "was not run";
      if (reason) left.set(reason, (left.get(reason) ?? 0) + 1);
    }
    const survivors = this.#mutants.filter(({ id }) => tried.has(id) && !killers.has(id));
    for (const { file, line, column, change } of survivors) {
      console.log(`survived: ${file}:${line}:${column} ${change}`);
    }
    for (const { name, tried: some, left: reason, killed = [] } of tests) {
      const isAlone = killed.some((id) => killers.get(id) === 1);
      if (some && !reason && !isAlone) console.log(`kills nothing alone: ${name}`);
    }
    for (const [reason, count] of left) console.log(`${count} tests: ${reason}`);
    const scores = new Map<string, { tried: number; killed: number }>();
    for (const { id, file } of this.#mutants.filter((mutant) => tried.has(mutant.id))) {
      for (const part of [file, posix.dirname(file), "all"]) {
        const score = scores.get(part) ?? { tried: 0, killed: 0 };
        score.tried += 1;
        if (killers.has(id)) score.killed += 1;
        scores.set(part, score);
      }
    }
    for (const [part, score] of [...scores].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const percent = Math.round((score.killed / score.tried) * 100);
      console.log(`${percent} % of ${score.tried} changes: ${part}`);
    }
  }
}
