/** How the stack starts our processes. */
import { expect, test } from "vitest";
import { nodeFlags } from "../src/cli/stack/service.ts";

test("processes get the flags of their npm scripts", () => {
  expect(nodeFlags("src/worker.ts")).toContain("--max-semi-space-size=2");
  expect(nodeFlags("src/cli/setup.ts")).toEqual([]);
});
