import { defineConfig } from "vitest/config";

/** The layers' tests. Two workers: each of them shares two servers and the machine's cores. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    // Of the models' runs through gRPC; test/soak has all of them.
    provide: { grpcRuns: 20 },
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
