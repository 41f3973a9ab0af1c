/** Divides long work into parts and bounded steps, until a workflow has to continue as new. */
import { workflowInfo } from "@temporalio/workflow";
import { type FailedAccount, type ShardLeft, shardCount } from "../src/points/contract/points.ts";

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

/** All shards of a program's expiry index, from their starts. */
export const allShards = (): ShardLeft[] =>
  Array.from({ length: shardCount }, (_, shard) => ({ shard }));

/** A message or report names at most this many accounts; the details of a failure name 100. */
const maxNamed = 20;

/** The first accounts that failed, with their reasons, as an operator reads them. */
export function namesOf(counts: {
  readonly failed: number;
  readonly failures: readonly FailedAccount[];
}): string {
  const { failed, failures } = counts;
  const names = failures.slice(0, maxNamed).map(({ user_id, reason }) => `${user_id} (${reason})`);
  const rest = (failed - names.length).toLocaleString("en");
  return names.join(", ") + (failed > names.length ? ` and ${rest} more` : "");
}
