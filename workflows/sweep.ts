/** Sweeps: long work in parts and bounded steps, until a workflow has to continue as new. */
import { workflowInfo } from "@temporalio/workflow";
import { addCounts } from "../src/platform/words/sums.ts";
import type { ShardLeft } from "../src/points/contract/payloads.ts";
import { shardCount } from "../src/points/contract/points.ts";
import { unwrapRefusal } from "./failures.ts";

/** A part of long work, and the cursor of its next step. */
export interface Part {
  readonly cursor?: string | undefined;
}

/** The sum of a sweep, and the parts that it has left: a run hands both to the next one. */
interface SweepState<P, Sum> {
  readonly sum: Sum;
  readonly left: readonly P[];
}

/**
 * Works on the parts that are left, up to `concurrency` of them at a time, one bounded step after
 * another, and shows the sum after each, until all are done or the history is so long that the
 * workflow should continue as new. The answer of a step is what it has counted, and a cursor if
 * something of its part is left.
 */
export async function sweep<P extends Part, Sum extends object>(
  from: SweepState<P, Sum>,
  concurrency: number,
  step: (part: P) => Promise<Sum & Part>,
  show: (sum: Sum) => void,
): Promise<SweepState<P, Sum>> {
  const queue = [...from.left];
  const left: P[] = [];
  let { sum } = from;
  const work = async () => {
    for (let part = queue.shift(); part; part = queue.shift()) {
      if (workflowInfo().continueAsNewSuggested) {
        left.push(part);
        continue;
      }
      const { cursor, ...counts } = await unwrapRefusal(step(part));
      sum = addCounts(sum, counts as Sum);
      show(sum);
      if (cursor !== undefined) queue.push({ ...part, cursor });
    }
  };
  show(sum);
  await Promise.all(Array.from({ length: concurrency }, work));
  return { sum, left };
}

/** All shards of a program's expiry index, from their starts. */
export const allShards = (): ShardLeft[] =>
  Array.from({ length: shardCount }, (_, shard) => ({ shard }));
