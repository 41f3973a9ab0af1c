/** Tests that workers know every type of workflow, and that the bundle of workflows is small. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import * as workflows from "../../workflows/index.ts";
import { workflowBundle } from "../support/servers/worker.ts";

test("every type of workflow is exported to the workers", () => {
  const types: readonly string[] = Object.values(workflowTypes);
  expect(types.filter((type) => !(type in workflows))).toEqual([]);
});

/** Each run loads the bundle: zod costs it 5 ms of CPU time, and the polyfill of Temporal more. */
test("the bundle has neither zod nor the polyfill of Temporal", () => {
  const code = readFileSync(workflowBundle().codePath, "utf8");
  const modules = [...code.matchAll(/"\.\/node_modules\/((?:@\w+\/)?[^/]+)\//g)].map(
    ([, name]) => name,
  );
  expect(modules).toContain("@temporalio/workflow");
  expect(modules).not.toContain("zod");
  expect(modules).not.toContain("temporal-polyfill");
});
