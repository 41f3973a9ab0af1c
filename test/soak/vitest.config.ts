import { defineConfig } from "vitest/config";

/** Soak tests: they run for long and use the whole machine, so they run one at a time. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ["test/soak/**/*.soak.ts", "test/model/*.grpc.test.ts"],
    provide: { grpcRuns: 80 },
    globalSetup: "test/support/global-setup.ts",
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 60 * 60_000,
    hookTimeout: 10 * 60_000,
    passWithNoTests: true,
  },
});
