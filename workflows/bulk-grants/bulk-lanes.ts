/** Divides the blocks of a bulk grant into lanes, and works on them in bounded steps. */
import { workflowInfo } from "@temporalio/workflow";
import {
  type BlockLane,
  type BlocksLeft,
  type BlocksResult,
  type BulkGrantView,
  laneCount,
} from "../../src/bulk-grants/contract/bulk-grants.ts";

/** The blocks that a step of the view has to work on: those of `left`, if they are of this step. */
export function blocksOf(
  { revision, run, block_count }: BulkGrantView,
  step: BlocksLeft["step"],
  left: BlocksLeft | undefined,
): BlocksLeft {
  const isSame = left?.step === step && left.revision === revision && left.run === run;
  return isSame ? left : { step, revision, run, lanes: lanesOf(block_count) };
}

/** Contiguous ranges of about the same length. */
function lanesOf(blocks: number): BlockLane[] {
  const count = laneCount(blocks);
  const start = (lane: number) => Math.floor((lane * blocks) / count);
  return Array.from({ length: count }, (_, lane) => ({ from: start(lane), to: start(lane + 1) }));
}

/**
 * Works on the lanes, one bounded step after another and at least one for each lane, until all are
 * done, one is stopped by the record, or the history is so long that the workflow should continue
 * as new. Returns the lanes that are left.
 */
export async function workOnLanes(
  lanes: readonly BlockLane[],
  step: (lane: BlockLane) => Promise<BlocksResult>,
): Promise<BlockLane[]> {
  let isStopped = false;
  const work = async ({ from, to }: BlockLane): Promise<BlockLane> => {
    let next = from;
    do {
      const result = await step({ from: next, to });
      next = result.next ?? to;
      if (result.stopped) isStopped = true;
    } while (next < to && !isStopped && !workflowInfo().continueAsNewSuggested);
    return { from: next, to };
  };
  const left = await Promise.all(lanes.map(work));
  return left.filter(({ from, to }) => from < to);
}
