/** Reads whether a workflow runs, and how far a run has come that adds up a report. */
import { WorkflowNotFoundError } from "@temporalio/client";
import type { Link } from "./connection.ts";

/** A run, with its report so far, which is empty when the run has failed. */
interface Progress<Report> {
  /** When the first run of a chain has started, in ms since 1970. */
  readonly startTime: number;
  readonly memo: Record<string, unknown> | undefined;
  readonly state: "RUNNING" | "DONE" | "FAILED";
  readonly report: Report;
}

/** Returns the latest run of a workflow; undefined when Temporal has none. */
export async function readProgress<Report>(
  link: Link,
  workflowId: string,
  query: string,
  empty: Report,
): Promise<Progress<Report> | undefined> {
  const handle = link.client.workflow.getHandle(workflowId);
  try {
    const { status, startTime, raw, memo } = await handle.describe();
    const first = raw.workflowExtendedInfo?.originalStartTime?.seconds;
    const run = { startTime: first ? Number(first) * 1_000 : startTime.getTime(), memo };
    if (status.name === "COMPLETED") {
      return { ...run, report: (await handle.result()) as Report, state: "DONE" };
    }
    if (status.name !== "RUNNING") return { ...run, report: empty, state: "FAILED" };
    return { ...run, report: await queryProgress(link, handle, query, empty), state: "RUNNING" };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
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

/** Only a worker answers a query; without one, returns `unknown`. */
async function queryProgress<T>(
  { connection, log }: Link,
  handle: { query(name: string): Promise<unknown> },
  query: string,
  unknown: T,
): Promise<T> {
  try {
    return await connection.withDeadline(
      Date.now() + 1_500,
      async () => (await handle.query(query)) as T,
    );
  } catch (error) {
    log.warn({ err: error }, "no worker answered the query for a run's progress");
    return unknown;
  }
}
