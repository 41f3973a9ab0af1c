/** The current details of a run, which say what ends it if nothing else of the run does. */
import { setCurrentDetails, workflowInfo } from "@temporalio/workflow";

/**
 * Shows a text of Markdown. The static details of a run say how to end it, and are lost when it
 * continues as new; one that was started by hand has none (`hasNone`). Then the text comes after
 * `howToEnd`, because the Web UI may cut the last line.
 */
export function showDetails(howToEnd: string, text: string, hasNone = false): void {
  const isLost = workflowInfo().continuedFromExecutionRunId !== undefined;
  setCurrentDetails(isLost || hasNone ? `${howToEnd}\n\n${text}` : text);
}
