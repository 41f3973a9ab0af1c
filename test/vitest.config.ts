import { defineConfig } from "vitest/config";

/** All tests but the soak tests. Two workers, because they share two servers and the cores. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    // About a tenth of the histories that test/soak runs.
    provide: { grpcRuns: 8 },
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
