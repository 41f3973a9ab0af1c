/**
 * Runs each test as it is, and once more with each change of the source that it runs over, by means
 * of Vitest's repeated tests. What a test noticed goes to the reporter in its `meta`.
 */
import { inject, type RunnerTestCase, TestRunner, type TestTryOptions } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The ids of the changes that are tried. */
    mutants: readonly string[];
  }
  interface TaskMeta {
    mutations?: TestMutations;
  }
}

/** What a test has found out. */
export type TestMutations = {
  /** The ids of the changes that it was run with. */
  readonly tried: readonly string[];
  /** The ids of those by which it failed. */
  readonly killed: readonly string[];
  /** Why it was not run with others. */
  readonly left?: string;
};

/** How long one test is run with changes, in milliseconds. */
const BUDGET_MS = 10_000;
/**
 * After how many changes, and after one that took how long, the test is run as it is, in case a
 * change has broken what the tests of a file share.
 */
const CONTROL_EVERY = 10;
const CONTROL_AFTER_MS = 900;
const TIMEOUT_MS = 20_000;

/** What instrumented code looks at: Stryker's name for it is fixed. */
const state: { activeMutant: string; cover?: (...ids: string[]) => void } = { activeMutant: "" };
Object.assign(globalThis, { __stryker__: state });

/** The changes that the test runs over, while it runs as it is for the first time. */
let covered: Set<string> | undefined;
let steps = 0;
let maxSteps = Number.POSITIVE_INFINITY;
state.cover = (...ids) => {
  steps += 1;
  // A change may have made a loop endless.
  if (steps > maxSteps) throw new Error("too many steps");
  if (covered) for (const id of ids) covered.add(id);
};

type Plan = {
  step: "first" | "again" | "mutant" | "control";
  /** The changes to try, and how many of them were. */
  ids: string[];
  next: number;
  readonly killed: string[];
  /** How long the test takes as it is, in milliseconds, and how many steps. */
  ms: number;
  steps: number;
  /** When the current run began, and the first one with a change. */
  begun: number;
  started: number;
};

// biome-ignore lint/style/noDefaultExport: Vitest takes the default export as the runner.
export default class MutationRunner extends TestRunner {
  readonly #mutants = new Set(inject("mutants"));
  #plan = newPlan();
  /** Whether the other tests of this process, all of one file, cannot be run any more. */
  #isBroken = false;

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    if (this.#isBroken) test.mode = "skip";
    test.repeats = Number.POSITIVE_INFINITY;
    test.retry = 0;
    this.#plan = newPlan();
  }

  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options);
    const plan = this.#plan;
    const isMutant = plan.step === "mutant";
    if (plan.step === "first") covered = new Set();
    steps = 0;
    maxSteps = isMutant ? 20_000 + 20 * plan.steps : Number.POSITIVE_INFINITY;
    state.activeMutant = isMutant ? (plan.ids[plan.next] as string) : "";
    plan.begun = performance.now();
  }

  /** Vitest calls it instead of the test's function. */
  async runTask(test: RunnerTestCase): Promise<void> {
    const { step, ms } = this.#plan;
    const timeout = step === "mutant" ? Math.max(1_000, 10 * ms) : TIMEOUT_MS;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("timed out")), timeout);
    });
    try {
      await Promise.race([TestRunner.getTestFn(test)(), late]);
    } catch {
      // Vitest would compare and print the values of the failed assertion, which takes long.
      throw new Error("the test failed");
    } finally {
      clearTimeout(timer);
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options);
    state.activeMutant = "";
    const { result } = test;
    if (!result) return;
    const failed = result.state === "fail";
    result.state = "run";
    delete result.errors;
    if (result.attempts) result.attempts.length = 0;
    const end = this.#afterTry(failed);
    if (end === undefined) return;
    const { ids, next, killed } = this.#plan;
    test.meta.mutations = { tried: ids.slice(0, next), killed, ...(end && { left: end }) };
    // Ends the repetitions.
    result.state = "skip";
  }

  /** Returns undefined to go on, "" at the end, or why the test is not run with more changes. */
  #afterTry(failed: boolean): string | undefined {
    const plan = this.#plan;
    const took = performance.now() - plan.begun;
    const isAtEnd = () =>
      plan.next >= plan.ids.length || performance.now() - plan.started > BUDGET_MS;
    switch (plan.step) {
      case "first":
        plan.ids = [...(covered ?? [])].filter((id) => this.#mutants.has(id));
        plan.steps = steps;
        covered = undefined;
        if (failed) return "fails without a change";
        plan.step = "again";
        return undefined;
      case "again":
        if (failed) return "fails when it is run again";
        plan.ms = took;
        plan.started = performance.now();
        plan.step = "mutant";
        return plan.ids.length === 0 ? "" : undefined;
      case "mutant":
        if (failed) plan.killed.push(plan.ids[plan.next] as string);
        plan.next += 1;
        if (plan.next % CONTROL_EVERY === 0 || took > CONTROL_AFTER_MS || isAtEnd()) {
          plan.step = "control";
        }
        return undefined;
      case "control":
        if (failed) {
          this.#isBroken = true;
          return "a change has broken what the tests of its file share";
        }
        plan.step = "mutant";
        if (!isAtEnd()) return undefined;
        return plan.next < plan.ids.length ? "takes too long" : "";
    }
  }
}

function newPlan(): Plan {
  const zero = { next: 0, ms: 0, steps: 0, begun: 0, started: 0 };
  return { step: "first", ids: [], killed: [], ...zero };
}
