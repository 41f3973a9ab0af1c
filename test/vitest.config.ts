import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./support/longest-first.ts";

const root = `${import.meta.dirname}/..`;

const files = ["{packages,test,tools}/**/*.test.ts"];

/**
 * The files that need a process of their own: they replace modules, which another file may have
 * loaded, or count faked timers, of which clients that another file has closed may set some.
 */
const isolated = globSync(files, { cwd: root }).filter((file) =>
  /\bvi\.(do)?[mM]ock\(|\bgetTimerCount\(|\buseFakedTime\(/.test(
    readFileSync(`${root}/${file}`, "utf8"),
  ),
);

/**
 * All tests but the soak tests. Four workers on two cores, because tests wait for a third of their
 * time. Each runs many files, because every process loads and compiles the SDKs anew, for seconds.
 */
export default defineConfig({
  test: {
    root,
    globalSetup: "test/support/global-setup.ts",
    setupFiles: [
      "test/support/leftovers.ts",
      "test/support/shorter-timing.ts",
      "test/support/fixed-seed.ts",
    ],
    provide: { hasShortWaits: true, dynamoTransport: "thin" },
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    maxWorkers: 4,
    // All tests of a `describe.concurrent`: they wait for most of their time.
    maxConcurrency: 20,
    // Nothing takes so long unless it hangs, also on a machine that others use.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 90_000 } },
    projects: [
      { extends: true, test: { name: "isolated", include: isolated } },
      {
        extends: true,
        test: { name: "shared", include: files, exclude: isolated, isolate: false },
      },
    ],
  },
});
