import { defineConfig } from "vitest/config";

/** Checks of the files in deploy by tools that take minutes to install, once: see CONTRIBUTING. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    globalSetup: "test/support/say-once.ts",
    include: ["test/deploy/**/*.check.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20 * 60_000,
    hookTimeout: 20 * 60_000,
  },
});
