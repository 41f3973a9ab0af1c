/** Tests that workers know every type of workflow that clients start. */
import { expect, test } from "vitest";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import * as workflows from "../../workflows/index.ts";

test("every type of workflow is exported to the workers", () => {
  const types: readonly string[] = Object.values(workflowTypes);
  expect(types.filter((type) => !(type in workflows))).toEqual([]);
});
