/** Opens both stores for the conformance tests, and writes and reads records in short calls. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { SheetStore } from "../../../src/app/ports/bulk-grants.ts";
import type { Reader } from "../../../src/app/ports/deps.ts";
import { allPages, inBatches, type Page, type PageRequest } from "../../../src/app/ports/pages.ts";
import type { RemoveSnapshot } from "../../../src/app/ports/points.ts";
import type { Purger } from "../../../src/app/ports/reactions.ts";
import type { Kind, Records, Ref } from "../../../src/app/ports/records.ts";
import type { TableScan } from "../../../src/app/ports/scans.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { createDynamoItemStore } from "../../../src/store/dynamodb/item-store.ts";
import { createSnapshotRemover } from "../../../src/store/dynamodb/ledger-items.ts";
import { createDynamoPurger } from "../../../src/store/dynamodb/purger.ts";
import { createDynamoReader } from "../../../src/store/dynamodb/readers/index.ts";
import { createTableScan } from "../../../src/store/dynamodb/scan.ts";
import { type Clients, createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import { createDynamoSheetStore } from "../../../src/store/dynamodb/sheet-store.ts";
import { type TableName, tableName } from "../../../src/store/dynamodb/tables.ts";
import type { ItemStore, Write } from "../../../src/store/engine/item-store.ts";
import { deleteTables } from "./delete-tables.ts";
import { firstVersion } from "./first-version.ts";
import { createMemoryStore } from "./memory-store.ts";

export interface OpenStore {
  readonly store: ItemStore;
  readonly reader: Reader;
  readonly purger: Purger;
  readonly removeSnapshot: RemoveSnapshot;
  readonly sheets: SheetStore;
  readonly scan: TableScan["scan"];
}

/** The stores by name. DynamoDB's tables exist during the tests of the file. */
export function bothStores() {
  const names: TableName = tableName(`conformance-${randomUUID().slice(0, 8)}-`);
  let clients: Clients;
  let sdkClients: Clients;

  beforeAll(async () => {
    const place = { endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" };
    clients = createClients(place);
    sdkClients = createClients({ ...place, transport: "sdk" });
    await createTables(clients.retrying, localTableDefinitions(names));
  });

  afterAll(async () => {
    await deleteTables(clients.retrying, names);
    clients.close();
    sdkClients.close();
  });

  const openMemory = (): OpenStore => {
    const { itemStore, reader, purger, removeSnapshot, sheets, scan } = createMemoryStore();
    return { store: itemStore, reader, purger, removeSnapshot, sheets, scan };
  };
  const openDynamo = (by: Clients): OpenStore => ({
    store: createDynamoItemStore(by.single, names),
    reader: createDynamoReader(by, names),
    purger: createDynamoPurger(by, names),
    removeSnapshot: createSnapshotRemover(by.retrying, names("points")),
    sheets: createDynamoSheetStore(by, names),
    ...createTableScan(by.retrying, names),
  });
  const stores = [
    ["memory", openMemory],
    ["DynamoDB", () => openDynamo(clients)],
  ] as const;
  /** The stores, and DynamoDB without the thin transport. */
  const transports = [...stores, ["DynamoDB by the SDK", () => openDynamo(sdkClients)]] as const;
  return { stores, transports, names, client: () => clients.retrying };
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

/** All pages of a list. Expects that none is longer than `size`. */
export async function pages<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  size: number,
): Promise<T[][]> {
  const found: T[][] = [];
  for await (const items of allPages(size, read)) {
    expect(items.length).toBeLessThanOrEqual(size);
    found.push([...items]);
    // A list whose cursors never end.
    expect(found.length).toBeLessThanOrEqual(1_000);
  }
  return found;
}

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Commits any number of writes, 100 in each transaction, again if an answer was lost. */
export async function fill(store: ItemStore, writes: readonly Write[]): Promise<void> {
  for (const batch of inBatches(writes, 100)) {
    const token = randomUUID();
    let result = await store.commit(batch, token);
    for (let tries = 1; result.kind === "unknown" && tries < 5; tries++) {
      result = await store.commit(batch, token);
    }
    expect(result).toEqual({ kind: "committed" });
  }
}
