import { defineConfig } from "vitest/config";

/**
 * The test suites of other projects, played against this one. They need no servers of ours but
 * those that they start, and tools that are built or installed once: see CONTRIBUTING.
 */
const shared = { globalSetup: "test/support/say-once.ts", testTimeout: 20 * 60_000 };

/** It takes minutes, and plays the cases of `conformance-grpc.check.ts`, too. */
const long = "test/others/conformance-all.check.ts";

export default defineConfig({
  test: {
    ...shared,
    root: `${import.meta.dirname}/../..`,
    hookTimeout: 20 * 60_000,
    pool: "forks",
    // The suites have timeouts of their own, which a busy machine would break.
    fileParallelism: false,
    projects: [
      {
        extends: true,
        test: { name: "quick", include: ["test/others/**/*.check.ts"], exclude: [long] },
      },
      { extends: true, test: { name: "long", include: [long] } },
      // The tests of the store on another emulator than DynamoDB Local, which is built for minutes.
      {
        extends: true,
        test: {
          name: "emulator",
          globalSetup: "test/support/others/second-emulator.ts",
          setupFiles: ["test/support/fixed-seed.ts"],
          provide: { hasShortWaits: true, dynamoTransport: "thin" },
          include: [
            "test/{*/store,store}/**/*.test.ts",
            "test/platform/{dynamodb,engine}/*.test.ts",
          ],
        },
      },
    ],
  },
});
