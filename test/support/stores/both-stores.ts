/** Both stores, side by side, and what the contract tests say to them. */
import { randomUUID } from "node:crypto";
import { DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { Reader } from "../../../src/app/ports/deps.ts";
import type { Page, PageRequest } from "../../../src/app/ports/pages.ts";
import type { Purger } from "../../../src/app/ports/reactions.ts";
import type { Kind, Records, Ref } from "../../../src/app/ports/records.ts";
import { createDynamoItemStore } from "../../../src/store/dynamodb/item-store.ts";
import { createDynamoPurger } from "../../../src/store/dynamodb/purger.ts";
import { createDynamoReader } from "../../../src/store/dynamodb/readers/index.ts";
import { type Clients, createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import {
  createTables,
  type TableName,
  tableName,
  tables,
} from "../../../src/store/dynamodb/tables.ts";
import { firstVersion, type ItemStore, type Write } from "../../../src/store/engine/item-store.ts";
import { createMemoryStore } from "./memory-store.ts";

export interface OpenStore {
  readonly items: ItemStore;
  readonly reader: Reader;
  readonly purger: Purger;
}

/** For indexes, which follow their tables after a while. */
export const patience = { timeout: 30_000 };

/** The stores by name. Tables of DynamoDB's are made before the tests of the file, and dropped. */
export function bothStores() {
  const names: TableName = tableName(`contract-${randomUUID().slice(0, 8)}-`);
  let clients: Clients;

  beforeAll(async () => {
    clients = createClients({ endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" });
    await createTables(clients.retrying, names);
  });

  afterAll(async () => {
    for (const { TableName } of tables(names)) {
      await clients.retrying.send(new DeleteTableCommand({ TableName }));
    }
    clients.close();
  });

  const openDynamo = (): OpenStore => {
    const items = createDynamoItemStore(clients.single, names);
    const reader = createDynamoReader(clients, names);
    return { items, reader, purger: createDynamoPurger(clients, names) };
  };
  const stores = [
    ["memory", (): OpenStore => createMemoryStore()],
    ["DynamoDB", openDynamo],
  ] as const;
  return { stores, names, client: () => clients.retrying };
}

export const write = <K extends Kind>(ref: Ref<K>, value: Records[K], version = 0): Write => ({
  ref,
  op: "put",
  value,
  version,
  next: version > 0 ? version + 1 : firstVersion(ref.kind, value),
});

export const remove = (ref: Ref, version: number): Write => ({
  ref,
  op: "delete",
  value: undefined,
  version,
  next: 0,
});

export const check = (ref: Ref, version: number): Write => ({
  ref,
  op: "check",
  value: undefined,
  version,
  next: version,
});

/** All pages of a list, the pages themselves kept. */
export async function pages<T>(
  ask: (page: PageRequest) => Promise<Page<T>>,
  size: number,
): Promise<T[][]> {
  const found: T[][] = [];
  let cursor: string | undefined;
  do {
    const page = await ask({ size, cursor });
    expect(page.items.length).toBeLessThanOrEqual(size);
    found.push([...page.items]);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < 1_000);
  return found;
}

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Writes any number of records, all new. */
export async function fill(items: ItemStore, writes: readonly Write[]): Promise<void> {
  for (let i = 0; i < writes.length; i += 100) {
    const result = await items.commit(writes.slice(i, i + 100), randomUUID());
    expect(result).toEqual({ kind: "committed" });
  }
}
