/** Reads whether a workflow runs, and how far it has come. */
import { WorkflowNotFoundError } from "@temporalio/client";
import type { Link } from "./connection.ts";

/**
 * Returns what the latest run of a workflow answers to a query, or `unknown` when no worker does;
 * undefined when it does not run.
 */
export async function queryOf<T>(
  link: Link,
  workflowId: string,
  query: string,
  unknown: T,
): Promise<T | undefined> {
  if (!(await isRunning(link, workflowId))) return undefined;
  const { connection, client, log } = link;
  try {
    return await connection.withDeadline(
      Date.now() + 1_500,
      async () => (await client.workflow.getHandle(workflowId).query(query)) as T,
    );
  } catch (error) {
    log.warn({ err: error }, "no worker answered the query for a run's progress");
    return unknown;
  }
}

/** Whether the latest run of a workflow runs. */
export async function isRunning({ client }: Link, workflowId: string): Promise<boolean> {
  try {
    const { closeTime } = await client.workflow.getHandle(workflowId).describe();
    // A run that an operator has paused goes on some time, too.
    return closeTime === undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
