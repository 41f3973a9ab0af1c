import { workflowInfo } from "@temporalio/workflow";

/** Part of a long piece of work, and how far it has come. */
export interface Part {
  readonly cursor?: string;
}

/**
 * Works on parts, a few side by side, one bounded step at a time, until all are done or the history
 * has grown long enough to continue as new. Returns the parts that are left.
 */
export async function workOn<P extends Part>(
  parts: readonly P[],
  atOnce: number,
  step: (part: P) => Promise<string | undefined>,
): Promise<P[]> {
  const waiting = [...parts];
  const left: P[] = [];
  const worker = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      if (workflowInfo().continueAsNewSuggested) {
        left.push(part);
        continue;
      }
      const cursor = await step(part);
      if (cursor !== undefined) waiting.push({ ...part, cursor });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return left;
}
