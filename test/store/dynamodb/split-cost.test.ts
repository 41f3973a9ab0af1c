/** Tests that a split of a large group costs what its shorter side costs. */
import { randomUUID } from "node:crypto";
import type { DynamoDBClient, QueryCommandOutput } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { MemberReader } from "../../../src/app/ports/notifications.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { createDynamoItemStore } from "../../../src/store/dynamodb/item-store.ts";
import { createDynamoReader } from "../../../src/store/dynamodb/readers/index.ts";
import { type Clients, createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/store/dynamodb/tables.ts";
import { newTarget, put, range, reaction } from "../../support/fixtures/stored-reactions.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";
import { fill } from "../../support/stores/records.ts";

const names = tableName(`split-${randomUUID().slice(0, 8)}-`);
const target = newTarget();
const memberCount = 5_010;
let clients: Clients;
let members: MemberReader;
let examined = 0;

/** Counts the items that DynamoDB examines for the queries of a client. */
function countExamined(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      examined += (result.output as QueryCommandOutput).ScannedCount ?? 0;
      return result;
    },
    { step: "initialize" },
  );
}

beforeAll(async () => {
  clients = createClients({ endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" });
  await createTables(clients.retrying, localTableDefinitions(names));
  members = createDynamoReader(clients, names);
  await fill(
    createDynamoItemStore(clients.single, names),
    range(1, memberCount).map((n) => put(reaction(target, n))),
  );
  countExamined(clients.single);
});

afterAll(async () => {
  await deleteTables(clients.retrying, names);
  clients.close();
});

/** The number of members that is counted up to a version, and the number of examined items. */
async function splitAt(at: number, hasLeavers = false) {
  examined = 0;
  const range = { from: 1, at, to: memberCount };
  const total = hasLeavers ? undefined : memberCount;
  const found = await members.splitMembers({ target, kind: "like" }, range, total);
  const { count, restCount } = found;
  return { count, cost: examined, ...(hasLeavers && { restCount }) };
}

// Of each side a first page of 32 items is read, then pages of 128 and 512. The ends are 7 items.
test.each([
  [10, 10 + 32 + 7],
  [300, 300 + 32 + 128 + 512 + 7],
])("with %i members on either side it examines %i items", async (shorter, cost) => {
  expect(await splitAt(shorter)).toEqual({ count: shorter, cost });
  const at = memberCount - shorter;
  expect(await splitAt(at)).toEqual({ count: at, cost });
});

test("with people who have left a moment ago, both sides are counted to their ends", async () => {
  for (const at of [10, memberCount - 10]) {
    const cost = memberCount + 7;
    expect(await splitAt(at, true)).toEqual({ count: at, restCount: memberCount - at, cost });
  }
});
