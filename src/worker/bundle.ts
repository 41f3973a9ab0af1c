import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from "@temporalio/worker";

/** Bundles the workflows as Temporal's sandbox loads them. Takes some seconds. */
export const bundleWorkflows = (): Promise<WorkflowBundle> =>
  bundleWorkflowCode({
    workflowsPath: `${import.meta.dirname}/../../workflows/index.ts`,
    logger: new DefaultLogger("WARN"),
  });
