/** Writes records into the tables directly, as the service would have written them. */
import { BatchWriteItemCommand, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import type { Kind, Records, Ref } from "../../src/platform/ports/records.ts";
import { codecOf, toItem } from "../../src/store/codecs.ts";
import { inParallel } from "./load.ts";
import type { Stack } from "./stack.ts";

/** A record and its version. */
export interface Seed<K extends Kind = Kind> {
  readonly ref: Ref<K>;
  readonly value: Records[K];
  readonly version: number;
}

const batchSize = 25;

export async function seed({ clients, config }: Stack, seeds: Iterable<Seed>): Promise<void> {
  const name = tableName(config.tablePrefix);
  await inParallel(8, batches(seeds), async (batch) => {
    let left: Record<string, WriteRequest[]> = {};
    for (const { ref, value, version } of batch) {
      const table = name(codecOf(ref.kind).table);
      left[table] ??= [];
      left[table].push({ PutRequest: { Item: toItem(ref, value, version) } });
    }
    while (Object.keys(left).length > 0) {
      const command = new BatchWriteItemCommand({ RequestItems: left });
      left = (await clients.retrying.send(command)).UnprocessedItems ?? {};
    }
  });
}

function* batches(seeds: Iterable<Seed>): Generator<Seed[]> {
  let batch: Seed[] = [];
  for (const one of seeds) {
    batch.push(one);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
