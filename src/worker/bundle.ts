/** Bundles the workflows for Temporal's sandbox. */
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from "@temporalio/worker";

/** Takes some seconds. */
export const bundleWorkflows = (): Promise<WorkflowBundle> =>
  bundleWorkflowCode({
    workflowsPath: `${import.meta.dirname}/../../workflows/index.ts`,
    logger: new DefaultLogger("WARN"),
  });
