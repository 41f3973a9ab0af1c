/** The addresses of workflows in Temporal's Web UI, for people who read a report. */

/** Returns the address of a workflow by its id; undefined when nobody has said where the UI is. */
export type WorkflowLinks = (workflowId: string) => string | undefined;

/** Links to the Web UI at `uiUrl`, to the workflows of one namespace. */
export function createWorkflowLinks(uiUrl: string, namespace: string) {
  const base = `${uiUrl.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(namespace)}`;
  return (workflowId: string): string => `${base}/workflows/${encodeURIComponent(workflowId)}`;
}
