/** Bundles the workflows for Temporal's sandbox. */
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from "@temporalio/worker";

const workflows = `${import.meta.dirname}/../../workflows`;

/** Bundles what a file exports, with the interceptor of answers, which takes some seconds. */
export const bundleWorkflows = (workflowsPath = `${workflows}/index.ts`): Promise<WorkflowBundle> =>
  bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: [`${workflows}/answers.ts`],
    logger: new DefaultLogger("WARN"),
  });
