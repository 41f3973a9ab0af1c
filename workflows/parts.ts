/** Divides long work into parts and bounded steps, until a workflow has to continue as new. */
import { workflowInfo } from "@temporalio/workflow";

/** A part of long work, and the cursor of its next step. */
export interface Part {
  readonly cursor?: string;
}

/**
 * Works on parts, up to `concurrency` of them at a time, one bounded step after another, until all
 * are done or the history is so long that the workflow should continue as new. Returns the parts
 * that are left.
 */
export async function workOn<P extends Part>(
  parts: readonly P[],
  concurrency: number,
  step: (part: P) => Promise<string | undefined>,
): Promise<P[]> {
  const queue = [...parts];
  const left: P[] = [];
  const work = async () => {
    for (let part = queue.shift(); part; part = queue.shift()) {
      if (workflowInfo().continueAsNewSuggested) {
        left.push(part);
        continue;
      }
      const cursor = await step(part);
      if (cursor !== undefined) queue.push({ ...part, cursor });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return left;
}
