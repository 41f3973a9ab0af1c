/** Counts what DynamoDB throttles: the tables of the requests, and samples of the targets. */
import { createHash } from "node:crypto";
import type { StoreTallies } from "../../ports/tallies.ts";
import type { TargetName } from "../../words/target-name.ts";
import type { Partition } from "./requests.ts";

/** One in so many throttled requests of targets is a sample. */
const sampleEvery = 10;

/** The most targets that are kept, because each is a time series of its own. */
const maxTargets = 100;

/** Finds the target of whose records a partition is, by its hash key. */
export type TargetOf = (pk: string) => TargetName | undefined;

/** Counts the partitions that an attempt of a request says are throttled. */
export type CountThrottles = (partitions: readonly Partition[]) => void;

export function createThrottleCounts(
  { throttles, targetSamples }: Pick<StoreTallies, "throttles" | "targetSamples">,
  targetOf: TargetOf = () => undefined,
): CountThrottles {
  /** The labels of the targets, in the order of the latest samples. */
  const sampled = new Map<string, Readonly<Record<"target_type" | "target_hash", string>>>();
  let ofTargets = 0;

  function sample(target: TargetName): void {
    ofTargets += 1;
    if (ofTargets % sampleEvery !== 0) return;
    const hash = hashOf(target);
    const labels = sampled.get(hash) ?? { target_type: target.type, target_hash: hash };
    targetSamples.inc(labels);
    sampled.delete(hash);
    sampled.set(hash, labels);
    const [oldest] = sampled.values();
    if (sampled.size <= maxTargets || oldest === undefined) return;
    sampled.delete(oldest.target_hash);
    targetSamples.remove(oldest);
  }

  return (partitions) => {
    for (const table of new Set(partitions.map((partition) => partition.table))) {
      throttles.inc({ table });
    }
    const targets = partitions.flatMap(({ pk }) => (pk && targetOf(pk)) || []);
    const different = new Map(targets.map((target) => [`${target.type}#${target.id}`, target]));
    for (const target of different.values()) sample(target);
  };
}

/** Stands for the id of a target, which may be named after its owner. */
const hashOf = ({ type, id }: TargetName): string =>
  createHash("sha256").update(`${type}#${id}`).digest("hex").slice(0, 12);
