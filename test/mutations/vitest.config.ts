import { defineConfig } from "vitest/config";

/** The tests that need neither DynamoDB nor Temporal: those by which mutations are judged. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: [
      "test/{domain,auth}/**/*.test.ts",
      "test/store/engine/{engine-*,isolation,lookups,record-cache}.test.ts",
      "test/store/engine/{read-ahead,reading-members}.test.ts",
      "test/client/{call-key,rendezvous,retry-policy,send-call,servers,token}.test.ts",
    ],
    testTimeout: 30_000,
  },
});
