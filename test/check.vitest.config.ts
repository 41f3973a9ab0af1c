import { defineConfig } from "vitest/config";
import npmTest from "./vitest.config.ts";

const { projects: _, ...shared } = npmTest.test ?? {};

/** The tests that are too slow for `npm test`, with the servers and the set-up that it has. */
export default defineConfig({
  test: {
    ...shared,
    include: ["{test,tools}/**/*.check.ts"],
    // They need no servers, and have configs of their own.
    exclude: ["test/deploy/**", "test/others/**"],
    passWithNoTests: true,
    maxWorkers: 4,
  },
});
