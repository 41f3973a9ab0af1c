/** The addresses of pages in Temporal's Web UI, for people who read a report. */

/** The addresses of pages. They are undefined when nobody has said where the UI is. */
export interface WorkflowLinks {
  /** Leads to a workflow by its id. */
  toWorkflow(workflowId: string): string | undefined;
  /** Leads to the list of the workflows that a query finds. */
  toList(query: string): string | undefined;
}

export const noLinks: WorkflowLinks = { toWorkflow: () => undefined, toList: () => undefined };

/** Links to the Web UI at `uiUrl`, to the workflows of one namespace. */
export function createWorkflowLinks(uiUrl: string, namespace: string) {
  const base = `${uiUrl.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(namespace)}`;
  return {
    toWorkflow: (workflowId: string) => `${base}/workflows/${encodeURIComponent(workflowId)}`,
    toList: (query: string) => `${base}/workflows?query=${encodeURIComponent(query)}`,
  } satisfies WorkflowLinks;
}
