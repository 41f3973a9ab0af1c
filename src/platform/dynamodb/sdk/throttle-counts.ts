/** Counts what DynamoDB throttles: the tables of the requests, and samples of the targets. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { StoreThrottles } from "../../ports/store-throttles.ts";
import type { TargetName } from "../../words/target-name.ts";
import {
  type Failure,
  type Place,
  placesOf,
  type RequestInput,
  throttledOf,
  unprocessed,
} from "./requests.ts";

/** One in so many throttled requests of targets is a sample. */
const sampleEvery = 10;

/** The most targets that are kept, because each is a time series of its own. */
const maxTargets = 100;

interface ThrottleCounts {
  /** Counts each attempt of a client. */
  observe(client: DynamoDBClient): void;
  current(): StoreThrottles;
}

/** Finds the target of whose records a partition is, by its hash key. */
export type TargetOf = (pk: string) => TargetName | undefined;

export function createThrottleCounts(targetOf: TargetOf = () => undefined): ThrottleCounts {
  const byTable = new Map<string, number>();
  const byTarget = new Map<string, { readonly target: TargetName; readonly samples: number }>();
  let ofTargets = 0;

  function sample(target: TargetName): void {
    ofTargets += 1;
    if (ofTargets % sampleEvery !== 0) return;
    const name = `${target.type}#${target.id}`;
    const samples = (byTarget.get(name)?.samples ?? 0) + 1;
    // The map is in the order of the latest samples.
    byTarget.delete(name);
    byTarget.set(name, { target, samples });
    const [oldest] = byTarget.keys();
    if (byTarget.size > maxTargets && oldest !== undefined) byTarget.delete(oldest);
  }

  function count(places: readonly Place[]): void {
    for (const table of new Set(places.map((place) => place.table))) {
      byTable.set(table, (byTable.get(table) ?? 0) + 1);
    }
    const targets = places.flatMap(({ pk }) => (pk && targetOf(pk)) || []);
    const different = new Map(targets.map((target) => [`${target.type}#${target.id}`, target]));
    for (const target of different.values()) sample(target);
  }

  return {
    observe(client) {
      client.middlewareStack.add(
        (next) => async (args) => {
          const input = args.input as RequestInput;
          try {
            const result = await next(args);
            const left = unprocessed(result.output);
            if (left) count(placesOf({ RequestItems: left }));
            return result;
          } catch (error) {
            count(throttledOf(error as Failure, input));
            throw error;
          }
        },
        // Within the retries of the SDK.
        { step: "finalizeRequest", name: "meguriThrottles", priority: "low" },
      );
    },
    current: () => ({ byTable, byTarget: [...byTarget.values()] }),
  };
}
