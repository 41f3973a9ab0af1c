/** Counts the requests to DynamoDB, attempt by attempt: results, seconds and consumed units. */
import type { ConsumedCapacity, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createCounter, createHistogram, type StoreTallies } from "../../ports/tallies.ts";
import {
  type Failure,
  isOnItems,
  isThrottled,
  isWrite,
  partitionsOf,
  type RequestInput,
  tablesOf,
  throttledOf,
  unprocessed,
} from "./requests.ts";
import type { CountThrottles } from "./throttle-counts.ts";

export const createStoreTallies = (): StoreTallies => ({
  requests: createCounter(
    "meguri_store_requests_total",
    "Attempts of requests to DynamoDB, for each of their tables, by result.",
    ["operation", "table", "result"],
  ),
  seconds: createHistogram(
    "meguri_store_request_seconds",
    "Duration of attempts of requests to DynamoDB.",
    ["operation"],
  ),
  refusals: createCounter(
    "meguri_store_refusals_total",
    "Requests that DynamoDB refuses whatever they ask for, for each of their tables, by its code.",
    ["operation", "table", "code"],
  ),
  units: createCounter(
    "meguri_store_units_total",
    "Capacity units that DynamoDB has reported, by table.",
    ["table", "kind"],
  ),
  throttles: createCounter(
    "meguri_store_throttles_total",
    "Requests that DynamoDB has throttled, each attempt counted, by table.",
    ["table"],
  ),
  targetSamples: createCounter(
    "meguri_target_throttle_samples_total",
    "One in ten of the throttled requests for the records of targets, by target.",
    ["target_type", "target_hash"],
  ),
  accountSamples: createCounter(
    "meguri_account_throttle_samples_total",
    "One in ten of the throttled requests for the records of accounts, by account.",
    ["account_hash"],
  ),
});

/** The codes of an item of a cancelled transaction that another request has changed. */
const conflictCodes: readonly unknown[] = ["ConditionalCheckFailed", "TransactionConflict"];

/** The names of errors whose cause is other requests for the same items. */
const conflictErrors: readonly unknown[] = [
  "ConditionalCheckFailedException",
  "TransactionConflictException",
  "TransactionInProgressException",
];

/**
 * Counts each attempt of a client, what is throttled of it, and has DynamoDB say how many units it
 * took.
 */
export function countRequests(
  client: DynamoDBClient,
  tallies: StoreTallies,
  countThrottles: CountThrottles,
): void {
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      isOnItems(commandName)
        ? (args) => next({ ...args, input: { ReturnConsumedCapacity: "TOTAL", ...args.input } })
        : next,
    { step: "initialize", name: "meguriConsumedCapacity" },
  );
  client.middlewareStack.add(
    (next, { commandName = "" }) => {
      const operation = commandName.replace(/Command$/, "");
      const kind = isWrite(commandName) ? "write" : "read";
      return async (args) => {
        const sent = performance.now();
        const tables = tablesOf(args.input as RequestInput);
        const count = (result: string) => {
          tallies.seconds.observe({ operation }, (performance.now() - sent) / 1_000);
          for (const table of tables) tallies.requests.inc({ operation, table, result });
        };
        try {
          const answer = await next(args);
          const left = unprocessed(answer.output);
          count(left ? "throttled" : "ok");
          if (left) countThrottles(partitionsOf({ RequestItems: left }));
          countUnits(tallies, kind, answer.output as Answer);
          return answer;
        } catch (error) {
          count(resultOf(error as Failure));
          countThrottles(throttledOf(error as Failure, args.input as RequestInput));
          throw error;
        }
      };
    },
    // Within the retries of the SDK.
    { step: "finalizeRequest", name: "meguriRequests", priority: "low" },
  );
}

interface Answer {
  readonly ConsumedCapacity?: ConsumedCapacity | readonly ConsumedCapacity[];
}

function countUnits({ units }: StoreTallies, kind: "read" | "write", answer: Answer): void {
  for (const { TableName: table = "", CapacityUnits = 0 } of [
    answer.ConsumedCapacity ?? [],
  ].flat()) {
    units.inc({ table, kind }, CapacityUnits);
  }
}

/** The result of an attempt that has failed. */
function resultOf(error: Failure): string {
  const { name, CancellationReasons = [], $metadata } = error;
  const isConflict = CancellationReasons.some(({ Code }) => conflictCodes.includes(Code));
  if (isConflict || conflictErrors.includes(name)) return "conflict";
  if (isThrottled(error)) return "throttled";
  const status = $metadata?.httpStatusCode;
  if (status === undefined) return "unanswered";
  return status >= 500 ? "failed" : "refused";
}
