/** Gives a test file tables of its own on the emulator, from before its tests until after them. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, inject } from "vitest";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { deleteTables } from "./delete-tables.ts";

/** The prefix of the tables begins with a word that names the tests. */
export function ownTables(word: string) {
  const prefix = `${word}-${randomUUID().slice(0, 8)}-`;
  const names = tableName(prefix);
  const endpoint = inject("dynamodbEndpoint");
  const clients = createClients({ endpoint, region: "ap-northeast-1" });

  beforeAll(() => createTables(clients.retrying, localTableDefinitions(names)));

  afterAll(async () => {
    await deleteTables(clients.retrying, names);
    clients.close();
  });

  return { endpoint, prefix, names, clients };
}
