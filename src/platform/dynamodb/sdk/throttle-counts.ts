/** Counts what DynamoDB throttles: the tables of the requests, and samples of the targets. */
import { createHash } from "node:crypto";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { StoreTallies } from "../../ports/tallies.ts";
import type { TargetName } from "../../words/target-name.ts";
import {
  type Failure,
  type Partition,
  partitionsOf,
  type RequestInput,
  throttledOf,
  unprocessed,
} from "./requests.ts";

/** One in so many throttled requests of targets is a sample. */
const sampleEvery = 10;

/** The most targets that are kept, because each is a time series of its own. */
const maxTargets = 100;

/** Finds the target of whose records a partition is, by its hash key. */
export type TargetOf = (pk: string) => TargetName | undefined;

/** Returns what counts each attempt of a client. */
export function createThrottleCounts(
  { throttles, targetSamples }: Pick<StoreTallies, "throttles" | "targetSamples">,
  targetOf: TargetOf = () => undefined,
): (client: DynamoDBClient) => void {
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

  function count(partitions: readonly Partition[]): void {
    for (const table of new Set(partitions.map((partition) => partition.table))) {
      throttles.inc({ table });
    }
    const targets = partitions.flatMap(({ pk }) => (pk && targetOf(pk)) || []);
    const different = new Map(targets.map((target) => [`${target.type}#${target.id}`, target]));
    for (const target of different.values()) sample(target);
  }

  return (client) => {
    client.middlewareStack.add(
      (next) => async (args) => {
        const input = args.input as RequestInput;
        try {
          const result = await next(args);
          const left = unprocessed(result.output);
          if (left) count(partitionsOf({ RequestItems: left }));
          return result;
        } catch (error) {
          count(throttledOf(error as Failure, input));
          throw error;
        }
      },
      // Within the retries of the SDK.
      { step: "finalizeRequest", name: "meguriThrottles", priority: "low" },
    );
  };
}

/** Stands for the id of a target, which may be named after its owner. */
const hashOf = ({ type, id }: TargetName): string =>
  createHash("sha256").update(`${type}#${id}`).digest("hex").slice(0, 12);
