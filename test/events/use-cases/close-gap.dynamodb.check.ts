/** Closes gaps on DynamoDB's emulator, with the rights of the events process. */
import { expect, onTestFinished, test } from "vitest";
import { streamedTables } from "../../../src/events/ports/changes.ts";
import type { ChangeEvent } from "../../../src/events/rules/change-event.ts";
import { eventsOf } from "../../../src/events/rules/events-of.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { eventsSince } from "../../../src/events/use-cases/events-since.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { tableName, tables } from "../../../src/platform/dynamodb/tables.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { createRecordScan } from "../../../src/store/record-scan.ts";
import { decodeChange } from "../../../src/store/stream-records.ts";
import { runAs } from "../../support/deploy/run-as.ts";
import { addToCopy, withoutGoneLines } from "../../support/events/copy-of-events.ts";
import { startProcess } from "../../support/models/fault-workload.ts";
import { randomFrom } from "../../support/models/random.ts";
import { send } from "../../support/models/restore-play.ts";
import { begin, createWorkload, deletion } from "../../support/models/restore-workload.ts";
import { putItems } from "../../support/stores/copy-table.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";
import { itemsOf } from "../../support/stores/dump.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";
import { ownTables } from "../../support/stores/own-tables.ts";
import { createStreamReader, nothingStored } from "../../support/streams/stream-reader.ts";

const { endpoint, prefix, names, clients } = ownTables("gaps");

test("the events process may read all of it, and makes the same of the same tables", async () => {
  const random = randomFrom(11);
  const { deps, store } = memoryDeps({ random });
  await begin(deps);
  await send(deps, [...createWorkload(random, 80), [deletion]]);
  for (const table of tables) {
    await putItems(clients.retrying, names(table), await itemsOf(store.client, table));
  }
  const inMemory = await allEvents({
    ...deps,
    recordScan: createRecordScan(store.client, tableName("")),
  });
  const reader = createDynamoReader(clients, names);
  const inDynamo = await runAs("events", prefix, () =>
    allEvents({
      reader,
      programs: createProgramCache(reader),
      recordScan: createRecordScan(clients.retrying, names),
    }),
  );
  expect(inDynamo.length).toBeGreaterThan(100);
  expect(byId(inDynamo)).toEqual(byId(inMemory));
});

test("a gap gives the ids of the stream, and completes the copy of any part of it", async () => {
  const live = tableName(`live-${prefix}`);
  await createTables(clients.retrying, localTableDefinitions(live));
  onTestFinished(() => deleteTables(clients.retrying, live));
  const { deps, close } = startProcess(endpoint, live);
  onTestFinished(close);
  await begin(deps);
  await send(deps, [...createWorkload(randomFrom(12), 40), [deletion]]);
  const recordScan = createRecordScan(clients.retrying, live);
  const gap = await allEvents({ ...deps, recordScan });

  const streams = createStreamReader({ endpoint, prefix: `live-${prefix}`, decode: decodeChange });
  onTestFinished(() => streams.close());
  const stored = nothingStored();
  const told = () => stored.changes.flatMap((change) => eventsOf(change, () => undefined));
  const ids = gap.map(({ id }) => id).sort();
  await streams.readUntil(stored, () => {
    const known = new Set(told().map(({ id }) => id));
    expect(ids.filter((id) => !known.has(id))).toEqual([]);
  });
  const tables = addToCopy(new Map(), gap);
  const events = told();
  for (let count = 0; count < events.length; count += 19) {
    const copy = addToCopy(addToCopy(new Map(), events.slice(0, count)), gap);
    expect(withoutGoneLines(copy, tables)).toEqual(tables);
  }
});

test("restored tables, whose log is not restored, begin a log with another id", async () => {
  const log = createEventLog(clients.retrying, names("events"));
  const { logId } = await log.begin();
  const restored = tableName(`restored-${prefix}`);
  await createTables(clients.retrying, localTableDefinitions(restored));
  onTestFinished(() => deleteTables(clients.retrying, restored));
  for (const table of tables.filter((each) => each !== "events")) {
    const items = await itemsOf(clients.retrying, names(table));
    await putItems(clients.retrying, restored(table), items);
  }
  const other = createEventLog(clients.retrying, restored("events"));
  expect(await other.tail()).toBeUndefined();
  expect((await other.begin()).logId).not.toBe(logId);
  expect((await log.tail())?.logId).toBe(logId);
});

async function allEvents(deps: Parameters<typeof eventsSince>[0]): Promise<ChangeEvent[]> {
  const events: ChangeEvent[] = [];
  const emit = async (page: readonly ChangeEvent[]) => void events.push(...page);
  await eventsSince(deps, streamedTables, 0, undefined, emit, new AbortController().signal);
  return events;
}

const byId = (events: readonly ChangeEvent[]) => events.toSorted((a, b) => (a.id < b.id ? -1 : 1));
