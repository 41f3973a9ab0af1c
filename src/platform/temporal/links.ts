/** The addresses of workflows in Temporal's Web UI, for people who read a report. */

/** Returns the address of a workflow by its id. */
export type WorkflowLinks = (workflowId: string) => string;

/** Links to the Web UI at `uiUrl`, to the workflows of one namespace. */
export function createWorkflowLinks(uiUrl: string, namespace: string): WorkflowLinks {
  const base = `${uiUrl.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(namespace)}`;
  return (workflowId) => `${base}/workflows/${encodeURIComponent(workflowId)}`;
}
