import { defineConfig } from "vitest/config";

/** The tests that need neither DynamoDB nor Temporal: those by which mutations are judged. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: [
      "test/{domain,auth}/**/*.test.ts",
      "test/client/!(broken-servers|calls).test.ts",
      "test/store/engine/*.test.ts",
    ],
    setupFiles: ["test/support/fixed-seed.ts"],
    testTimeout: 15_000,
  },
});
