import { defineConfig } from "vitest/config";

/** Soak tests run for long, kill processes and want the machine to themselves: one at a time. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ["test/soak/**/*.soak.ts", "test/model/*.grpc.test.ts"],
    provide: { grpcRuns: 100 },
    globalSetup: "test/support/global-setup.ts",
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 60 * 60_000,
    hookTimeout: 10 * 60_000,
    passWithNoTests: true,
  },
});
