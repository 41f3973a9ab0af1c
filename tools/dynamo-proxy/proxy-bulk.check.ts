/** Tests that the fault proxy serves the requests of bulk grants, with its faults and isolation. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import type { BlockOutcome } from "../../src/bulk-grants/ports/bulk-grants.ts";
import { blockOutcomeRef } from "../../src/bulk-grants/ports/records.ts";
import type { BulkGrantState } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { createDynamoSheetStore } from "../../src/bulk-grants/store/sheet-store.ts";
import type { Reader } from "../../src/hub/deps.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { createDynamoItemStore } from "../../src/store/item-store.ts";
import { createDynamoReader } from "../../src/store/readers.ts";
import {
  bulkGrantOf,
  newUpload,
  putBulkGrant,
  rowsFrom,
} from "../../test/support/fixtures/bulk-records.ts";
import { range } from "../../test/support/fixtures/stored-reactions.ts";
import { patience } from "../../test/support/fixtures/waiting.ts";
import { ownTables } from "../../test/support/stores/own-tables.ts";
import { write } from "../../test/support/stores/records.ts";
import { startDynamoProxy } from "./proxy.ts";

const { endpoint: upstream, names, clients: direct } = ownTables("proxy-bulk");

/** A store behind a proxy of its own. */
async function setUp() {
  const proxy = await startDynamoProxy({ upstream, seed: 3 });
  const clients = createClients({ endpoint: proxy.endpoint, region: "ap-northeast-1" });
  onTestFinished(async () => {
    clients.close();
    await proxy.stop();
  });
  return {
    proxy,
    store: createDynamoItemStore(clients.single, names),
    reader: createDynamoReader(clients, names),
    sheets: createDynamoSheetStore(clients, names),
  };
}

const first = { size: 10, cursor: undefined };
const outcome = (run: number): BlockOutcome => ({
  run,
  grantedCount: 3,
  grantedPoints: 9,
  failures: [],
});

test("blocks are written, read and deleted in spite of lost answers and throttling", async () => {
  const { proxy, reader, sheets } = await setUp();
  proxy.isolation({ applyMs: [0, 5] });
  proxy.faults({ lostAnswer: 0.1, throttle: 0.1, serverError: 0.05 });
  const uploadId = newUpload();
  const again = async <T>(call: () => Promise<T>): Promise<T> => call().catch(() => again(call));
  for (const block of range(0, 39)) {
    await again(() => sheets.putBlock(uploadId, block, rowsFrom(block, 5)));
  }
  for (const block of range(0, 39)) {
    expect(await again(() => reader.rowsOfBlock(uploadId, block))).toEqual(rowsFrom(block, 5));
  }
  await again(() => sheets.deleteRows(uploadId));
  for (const block of range(0, 39)) {
    expect(await again(() => reader.rowsOfBlock(uploadId, block))).toEqual([]);
  }
  expect(proxy.stats().faults.lostAnswer).toBeGreaterThan(0);
  expect(proxy.stats().faults.throttle).toBeGreaterThan(0);
});

test("lists show each record as it was until its transaction is applied", async () => {
  const { proxy, store, reader } = await setUp();
  const uploadId = newUpload();
  const row = bulkGrantOf(`p-${randomUUID()}`);
  const ref = blockOutcomeRef(uploadId, 3);
  const seed = [write(ref, outcome(1)), putBulkGrant(row)];
  expect(await store.commit(seed, randomUUID())).toEqual({ kind: "committed" });
  const shownBy = async (from: Reader) => {
    const list = async (state?: BulkGrantState) => {
      const filter = { programId: row.programId, state, start: undefined, end: undefined };
      return (await from.bulkGrants(filter, first)).items;
    };
    return {
      runs: (await from.blockOutcomes(uploadId, first)).items.map(({ run }) => run),
      validating: (await list("VALIDATING")).length,
      invalid: (await list("INVALID")).length,
      states: (await list()).map(({ state }) => state),
    };
  };
  const before = { runs: [1], validating: 1, invalid: 0, states: ["VALIDATING"] };
  const after = { runs: [2], validating: 0, invalid: 1, states: ["INVALID"] };
  await expect.poll(() => shownBy(reader), patience).toEqual(before);
  // Longer than the test: the items stay hidden until the proxy stops, and the answer is lost.
  proxy.isolation({ applyMs: [600_000, 600_000] });
  const changes = [write(ref, outcome(2), 1), putBulkGrant({ ...row, state: "INVALID" }, 1)];
  const committed = store.commit(changes, randomUUID());
  await expect.poll(() => shownBy(createDynamoReader(direct, names)), patience).toEqual(after);
  expect(await shownBy(reader)).toEqual(before);
  await proxy.stop();
  expect(await committed).toEqual({ kind: "unknown" });
});
