/** Counts what DynamoDB throttles: the tables of the requests, and samples of the targets. */
import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { StoreThrottles } from "../../../app/ports/store-throttles.ts";
import type { TargetName } from "../../../domain/target.ts";
import { targetOf } from "../codecs/reactions.ts";
import type { Item } from "./attributes.ts";

/** The names of DynamoDB's throttling errors: the request had no effect. */
export const throttleErrors: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "ThrottlingException",
]);

/** The codes of an item of a cancelled transaction that was throttled. */
const throttleCodes: ReadonlySet<string | undefined> = new Set([
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);

/** One in so many throttled requests of targets is a sample. */
const sampleEvery = 10;

/** The most targets that are kept, because each is a time series of its own. */
const maxTargets = 100;

/** A table of a request, and the partition that it asks for if that is known. */
interface Place {
  readonly table: string;
  readonly pk: string | undefined;
}

interface ThrottleCounts {
  /** Counts each attempt of a client. */
  observe(client: DynamoDBClient): void;
  current(): StoreThrottles;
}

export function createThrottleCounts(): ThrottleCounts {
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
          const input = args.input as Input;
          try {
            const result = await next(args);
            const { UnprocessedKeys, UnprocessedItems } = result.output as Unprocessed;
            const left = UnprocessedKeys ?? UnprocessedItems;
            if (left && Object.keys(left).length > 0) count(placesOf({ RequestItems: left }));
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

/** An action of a transaction, or a request for one item. */
interface Keyed {
  readonly TableName?: string;
  readonly Key?: Item;
  readonly Item?: Item;
  readonly ExpressionAttributeValues?: Readonly<Record<string, AttributeValue>>;
}

type Batch = Readonly<Record<string, { readonly Keys?: readonly Item[] } | readonly unknown[]>>;

interface Input extends Keyed {
  readonly TransactItems?: readonly Readonly<Record<string, Keyed>>[];
  readonly RequestItems?: Batch;
}

interface Unprocessed {
  readonly UnprocessedKeys?: Batch;
  readonly UnprocessedItems?: Batch;
}

interface Failure {
  readonly name?: string;
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

/** The places that made a request fail. */
function throttledOf({ name, CancellationReasons = [] }: Failure, input: Input): readonly Place[] {
  const places = placesOf(input);
  if (throttleErrors.has(name ?? "")) return places;
  return places.filter((_, i) => throttleCodes.has(CancellationReasons[i]?.Code));
}

/** The places of a request; of a transaction, one for each of its actions. */
function placesOf({ TransactItems, RequestItems, ...single }: Input): Place[] {
  if (TransactItems) {
    return TransactItems.map((action) => placeOf(Object.values(action)[0] as Keyed));
  }
  if (!RequestItems) return [placeOf(single)];
  return Object.entries(RequestItems).flatMap(([table, asked]) => {
    const keys = "Keys" in asked ? (asked.Keys ?? []) : [];
    return [{ table, pk: undefined }, ...keys.map((key) => ({ table, pk: key.pk?.S }))];
  });
}

function placeOf({ TableName = "", Key, Item, ExpressionAttributeValues }: Keyed): Place {
  // In queries `:p` is the partition.
  const pk = (Key ?? Item)?.pk ?? ExpressionAttributeValues?.[":p"];
  return { table: TableName, pk: pk?.S };
}
