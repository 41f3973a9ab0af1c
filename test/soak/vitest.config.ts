import { defineConfig } from "vitest/config";

/** The models on the store in memory, which run side by side. */
const inMemory = ["test/soak/*-model.soak.ts"];

/** Soak tests, which run for long. Those that use the whole machine run one at a time. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    provide: { grpcRuns: 80, workloadOperations: 1_500 },
    globalSetup: "test/support/global-setup.ts",
    pool: "forks",
    testTimeout: 60 * 60_000,
    hookTimeout: 10 * 60_000,
    passWithNoTests: true,
    projects: [
      {
        extends: true,
        test: {
          name: "in memory",
          include: inMemory,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "whole machine",
          include: ["test/soak/**/*.soak.ts", "test/model/*.{grpc,fault-workload}.test.ts"],
          exclude: inMemory,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
