/** Closes gaps over records that are damaged: each is named, and none holds up another. */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { bulkGrantRef } from "../../../src/bulk-grants/ports/records.ts";
import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { type StreamedTable, streamedTables } from "../../../src/events/ports/changes.ts";
import type { RecordScan, ScannedItem } from "../../../src/events/ports/record-scan.ts";
import type { ChangeEvent } from "../../../src/events/rules/change-event.ts";
import { closeGap } from "../../../src/events/use-cases/close-gap.ts";
import { N, S } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { accountRef, entryRef, programRef } from "../../../src/points/ports/records.ts";
import { createRecordScan } from "../../../src/store/record-scan.ts";
import { program } from "../../support/fixtures/ledger-fixture.ts";
import { account, entry } from "../../support/fixtures/stored-points.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const { deps, store } = memoryDeps();
const scan = createRecordScan(store.client, tableName(""));

async function idsOf(table: StreamedTable, recordScan = scan): Promise<string[]> {
  const ids: string[] = [];
  const gap = { table, startTime: 5, endTime: 9, eventCount: 0 };
  const emit = async (events: readonly ChangeEvent[]) => {
    ids.push(...events.map(({ id }) => id));
  };
  await closeGap({ ...deps, recordScan }, gap, emit, new AbortController().signal);
  return ids;
}

/** Stores an account with entries of these numbers. */
function ledger(userId: string, numbers: readonly number[], last: number, programId = "p"): void {
  for (const number of numbers) store.force(entryRef(programId, userId, number), entry(number));
  store.force(accountRef(programId, userId), account(programId, userId, { last }));
}

const unreadable = (userId: string, number: number) =>
  `events/unreadable/points/A#p#${userId}%20L#${String(number).padStart(12, "0")}/5`;

test("what a ledger lacks is named in its place", async () => {
  store.force(programRef("p"), program(12));
  ledger("hole", [1, 2, 4], 4);
  ledger("tail", [1], 3);
  ledger("first", [2], 2);
  ledger("right", [1, 2], 2);
  ledger("lost", [1], 1, "gone");
  ledger("broken", [1, 2, 3], 3);
  const key = { pk: S("A#p#broken"), sk: S("L#000000000002") };
  await store.client.send(new PutItemCommand({ TableName: "points", Item: { ...key, v: N(1) } }));
  const ids = await idsOf("points");
  const of = (userId: string) => ids.filter((id) => new RegExp(`[/#]${userId}[/%]`).test(id));
  expect(of("hole")).toEqual([
    "points/p/hole/1",
    "points/p/hole/2",
    unreadable("hole", 3),
    "points/p/hole/4",
  ]);
  expect(of("tail")).toEqual(["points/p/tail/1", unreadable("tail", 2)]);
  expect(of("first")).toEqual([unreadable("first", 1), "points/p/first/2"]);
  expect(of("right")).toEqual(["points/p/right/1", "points/p/right/2"]);
  expect(of("lost")).toEqual(["points/gone/lost/1"]);
  expect(of("broken")).toEqual(["points/p/broken/1", unreadable("broken", 2), "points/p/broken/3"]);
});

test("an account whose numbers are damaged is read from its first entry on", async () => {
  ledger("odd", [1, 2], Number.NaN);
  const key = { pk: S("A#p#odd"), sk: S("A") };
  await store.client.send(new PutItemCommand({ TableName: "accounts", Item: { ...key, v: N(1) } }));
  const ids = (await idsOf("points")).filter((id) => id.includes("odd"));
  expect(ids).toEqual(["points/p/odd/1", "points/p/odd/2"]);
});

test("an item that is not whole is named by its keys", async () => {
  const Item = { pk: S("p#odd"), v: N(1), m: N(9) };
  await store.client.send(new PutItemCommand({ TableName: "reservations", Item }));
  expect(await idsOf("reservations")).toEqual(["events/unreadable/reservations/p#odd/5"]);
});

test("a record that no event can be made of is named by the keys of its item", async () => {
  const bulkGrant = { ...bulkGrantRef("p", "spring"), kind: "bulkGrant", version: 1 } as const;
  const items: ScannedItem[] = [
    { keys: "G#p#odd G", records: undefined },
    { keys: "G#p#spring G", records: [{ ...bulkGrant, value: {} as BulkGrant }] },
  ];
  let pages = 0;
  const odd: RecordScan = {
    ...scan,
    items: async () => ({ items: pages++ === 0 ? items : [] }),
  };
  expect(await idsOf("bulk", odd)).toEqual([
    "events/unreadable/bulk/G#p#odd%20G/5",
    "events/unreadable/bulk/G#p#spring%20G/5",
  ]);
});

test("tables without records tell nothing", async () => {
  const told = await Promise.all(
    streamedTables
      .filter((table) => !["points", "reservations"].includes(table))
      .map((table) => idsOf(table)),
  );
  expect(told).toEqual([[], [], []]);
});
