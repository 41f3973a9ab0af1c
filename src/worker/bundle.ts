/** Bundles the workflows for Temporal's sandbox. */
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from "@temporalio/worker";

const production = `${import.meta.dirname}/../../workflows/index.ts`;

/** Bundles what a file exports, which takes some seconds. */
export const bundleWorkflows = (workflowsPath = production): Promise<WorkflowBundle> =>
  bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger("WARN"),
  });
