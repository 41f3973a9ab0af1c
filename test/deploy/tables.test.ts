/** Tests that deploy/tables.yaml defines the tables and indexes that the store uses, kept safe. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { readTemplate } from "../../src/ops/tables/template.ts";
import * as store from "../../src/platform/dynamodb/tables.ts";
import { projectRoot } from "../support/markdown.ts";

const text = readFileSync(`${projectRoot}deploy/tables.yaml`, "utf8");
const template = parse(text, { logLevel: "silent" });

const definitions = tableDefinitions(store.tableName("shop-"));
const globalIndexes = definitions.flatMap(({ create }) =>
  (create.GlobalSecondaryIndexes ?? []).map(
    ({ IndexName }) => `${create.TableName.replace("shop-", "")}/index/${IndexName}`,
  ),
);
const localIndexes = definitions.flatMap(({ create }) =>
  (create.LocalSecondaryIndexes ?? []).map(({ IndexName }) => IndexName),
);

test("the store has all tables and indexes by their names", () => {
  expect(definitions.map(({ create }) => create.TableName)).toEqual(
    store.tables.map((table) => `shop-${table}`),
  );
  const named = Object.entries(store).flatMap(([name, value]) =>
    name.endsWith("Index") ? [value] : [],
  );
  const defined = [...globalIndexes.map((name) => name.split("/").pop()), ...localIndexes];
  expect([...new Set(defined)].toSorted()).toEqual(named.toSorted());
});

test("the prefix is that of the processes, by default as well", () => {
  const names = (given = {}) => readTemplate(text, given).map(({ TableName }) => TableName);
  expect(names()).toEqual(store.tables.map(store.tableName("meguri-")));
  expect(names({ TablePrefix: "shop-" })).toEqual(store.tables.map(store.tableName("shop-")));
});

test("a table outlives its stack; all but the log can be restored and have a stream", () => {
  const tables = Object.values<Record<string, unknown>>(template.Resources).filter(
    ({ Type }) => Type === "AWS::DynamoDB::Table",
  );
  expect(tables).toHaveLength(store.tables.length);
  const retain = { DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" };
  for (const table of tables) expect(table).toMatchObject(retain);
  const stream = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" };
  const kept = definitions.map(({ create, hasPointInTimeRecovery }) => [
    create.TableName,
    [create.DeletionProtectionEnabled, create.StreamSpecification, hasPointInTimeRecovery],
  ]);
  expect(Object.fromEntries(kept)).toEqual({
    ...Object.fromEntries(definitions.map((each) => [each.create.TableName, [true, stream, true]])),
    "shop-events": [true, undefined, undefined],
  });
});

test("reactions, notifications and the log of events alone have a time to live", () => {
  const ttls = definitions.map(({ create, ttlAttribute }) => [create.TableName, ttlAttribute]);
  expect(Object.fromEntries(ttls.filter(([, attribute]) => attribute))).toEqual({
    "shop-reactions": "ttl",
    "shop-notifications": "ttl",
    "shop-events": "ttl",
  });
});

/** The units or the warm throughput of all tables and global indexes. */
const throughputOf = (property: string, given: Record<string, unknown>) =>
  readTemplate(text, given).map((table) => {
    const indexes = (table.GlobalSecondaryIndexes ?? []) as Record<string, unknown>[];
    const [own, ...rest] = [table, ...indexes].map((each) => each[property]);
    expect(rest).toEqual(rest.map(() => own));
    return own;
  });

test("tables and indexes are on demand, or provisioned", () => {
  expect(throughputOf("ProvisionedThroughput", {})).toEqual(Array(8).fill(undefined));
  const given = { BillingMode: "PROVISIONED", MinReadUnits: 7, MinWriteUnits: 9 };
  const units = { ReadCapacityUnits: 7, WriteCapacityUnits: 9 };
  expect(throughputOf("ProvisionedThroughput", given)).toEqual(Array(8).fill(units));
  const modes = [{}, given].map((each) => readTemplate(text, each).map((it) => it.BillingMode));
  expect(modes).toEqual([Array(8).fill("PAY_PER_REQUEST"), Array(8).fill("PROVISIONED")]);
});

test("no table is warm, or those of accounts and points, or all", () => {
  const warm = (WarmTables: string) =>
    throughputOf("WarmThroughput", { WarmTables, WarmWriteUnits: 9_000 });
  const units = { ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 9_000 };
  expect(warm("none")).toEqual(Array(8).fill(undefined));
  expect(warm("points")).toEqual([units, units, ...Array(6).fill(undefined)]);
  expect(warm("all")).toEqual(Array(8).fill(units));
});

test("units of all tables and global indexes are scaled, if they are provisioned", () => {
  const [, tables, scaling] = template.Resources["Fn::ForEach::ScalingOfTables"];
  const [, indexes, scalingOfIndexes] = template.Resources["Fn::ForEach::ScalingOfIndexes"];
  expect(tables).toEqual(store.tables);
  expect(indexes).toEqual(globalIndexes);
  for (const resources of [scaling, scalingOfIndexes]) {
    const conditions = Object.values<{ Condition: string }>(resources).map((it) => it.Condition);
    expect(conditions).toEqual(Array(4).fill("IsProvisioned"));
  }
});
