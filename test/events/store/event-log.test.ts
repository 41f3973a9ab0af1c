/** Tests of the log of events, in memory and in DynamoDB: numbers, partitions, ends and writers. */
import {
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { keptMs, type LogBatch, type LogState } from "../../../src/events/ports/log.ts";
import type { Event } from "../../../src/events/published/event.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { EventSchema } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { type Item, N, S } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { ownTables } from "../../support/stores/own-tables.ts";

const { names, clients } = ownTables("event-log");
const dayMs = 24 * 3_600_000;

const eventOf = (number: number, text = ""): Event =>
  create(EventSchema, { id: `points/p/u/${number}`, type: "points.used", cause: text });

const batchOf = (number: number, time = Date.now()): LogBatch => ({
  number,
  time,
  events: [eventOf(number)],
});

/** A state that names the batch of which it is. */
const stateOf = (number: number): LogState => ({
  positions: { shard: { table: "points", stream: "arn", sequence: String(number), time: number } },
  gaps: [],
});

type Open = () => readonly [DynamoDBClient, string];

const stores: readonly (readonly [string, Open])[] = [
  ["memory", () => [createMemoryStore().client, "events"]],
  ["DynamoDB", () => [clients.retrying, names("events")]],
];

describe.each(stores)("in %s", (_, open) => {
  let client: DynamoDBClient;
  let table: string;
  const openLog = () => createEventLog(client, table);

  beforeEach(async () => {
    [client, table] = open();
    await deleteItems(() => true);
  });

  async function deleteItems(isMeant: (item: Item) => boolean): Promise<void> {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: table }));
    for (const { pk, sk } of Items.filter(isMeant)) {
      await client.send(new DeleteItemCommand({ TableName: table, Key: { pk, sk } as Item }));
    }
  }

  /** Puts a batch under another number into its place: the log behind it was appended before. */
  async function putLast(logId: string, number: number, time: number): Promise<void> {
    const head = { pk: S("H"), sk: S("H"), i: S(logId) };
    const end = (Math.floor(number / 1_000) + 1) * 1_000;
    const Item = { ...head, n: N(end), b: N(number), t: N(time) };
    await client.send(new PutItemCommand({ TableName: table, Item }));
    const log = openLog();
    await log.tail();
    expect(await log.append(batchOf(number, time), stateOf(number))).toBe(true);
  }

  test("a log begins once, with no state", async () => {
    expect(await openLog().tail()).toBeUndefined();
    expect(await openLog().read(1, 10)).toEqual([]);
    expect(await openLog().find(0)).toBe(1);
    const [one, other] = await Promise.all([openLog().begin(), openLog().begin()]);
    expect(one).toEqual(other);
    expect(one.number).toBe(0);
    expect(await openLog().state(one)).toEqual({ positions: {}, gaps: [] });
    await expect(openLog().append(batchOf(1), stateOf(1))).rejects.toThrow("has not begun");
  });

  test.each([-10, 10])(
    "a process whose clock is %i minutes off finds the same",
    async (minutes) => {
      const log = openLog();
      const { logId } = await log.begin();
      const time = Date.now();
      for (const number of [1, 2, 3]) {
        expect(await log.append(batchOf(number, time + number), stateOf(number))).toBe(true);
      }
      const clock = vi.spyOn(Date, "now").mockReturnValue(time + minutes * 60_000);
      onTestFinished(() => clock.mockRestore());
      const reader = openLog();
      expect(await reader.tail()).toEqual({ logId, number: 3, time: time + 3 });
      expect((await reader.read(1, 9)).map(({ number }) => number)).toEqual([1, 2, 3]);
      for (const number of [1, 2, 3]) expect(await reader.find(time + number)).toBe(number);
      expect(await reader.state(await reader.begin())).toEqual(stateOf(3));
      expect(await reader.append(batchOf(4), stateOf(4))).toBe(true);
      expect(await log.tail()).toMatchObject({ number: 4 });
    },
  );

  test("batches are read as they were appended, over the borders of partitions", async () => {
    const writer = openLog();
    const { logId } = await writer.begin();
    await putLast(logId, 998, Date.now());
    const log = openLog();
    await log.begin();
    const time = Date.now();
    for (const number of [999, 1_000, 1_001]) {
      expect(await log.append(batchOf(number, time), stateOf(number))).toBe(true);
    }
    for (const reader of [log, openLog()]) {
      expect(await reader.tail()).toMatchObject({ logId, number: 1_001 });
      expect((await reader.read(998, 10)).map(({ number }) => number)).toEqual([998, 999]);
      const [first] = await reader.read(1_000, 1);
      expect(first).toEqual(batchOf(1_000, time));
      expect(await reader.read(1_002, 10)).toEqual([]);
      expect(await reader.state(await reader.begin())).toEqual(stateOf(1_001));
    }
  });

  test("of two writers, only one appends a number, and the stale one never again", async () => {
    const stale = openLog();
    await stale.begin();
    expect(await stale.append(batchOf(1), stateOf(1))).toBe(true);
    const other = openLog();
    expect(await other.state(await other.begin())).toEqual(stateOf(1));
    expect(await other.append(batchOf(2), stateOf(2))).toBe(true);
    const late: LogBatch = { number: 2, time: 1, events: [eventOf(99)] };
    expect(await stale.append(late, stateOf(99))).toBe(false);
    expect(await stale.append(late, stateOf(99))).toBe(false);
    expect((await other.read(2, 1))[0]?.events).toEqual([eventOf(2)]);
    expect(await stale.state(await stale.begin())).toEqual(stateOf(2));
  });

  test("a stale writer at the border of a partition does not set the head back", async () => {
    const stale = openLog();
    const { logId } = await stale.begin();
    await putLast(logId, 999, Date.now());
    await stale.begin();
    await putLast(logId, 3_000, Date.now());
    expect(await stale.append(batchOf(1_000), stateOf(1_000))).toBe(false);
    expect(await openLog().tail()).toMatchObject({ logId, number: 3_000 });
  });

  test("a writer that is killed behind the head goes on with the same number", async () => {
    const { logId } = await openLog().begin();
    await putLast(logId, 999, Date.now());
    const killed = createEventLog(
      failing(client, ({ Item }) => Item?.pk?.S === `L#${logId}#1`),
      table,
    );
    await killed.begin();
    await expect(killed.append(batchOf(1_000), stateOf(1_000))).rejects.toThrow("killed");
    const next = openLog();
    const tail = await next.begin();
    expect(tail).toMatchObject({ logId, number: 999 });
    expect(await next.state(tail)).toEqual(stateOf(999));
    expect(await next.append(batchOf(1_000), stateOf(1_000))).toBe(true);
  });

  test("before its first batch is there, a log ends in front of it", async () => {
    const { logId } = await openLog().begin();
    const killed = createEventLog(
      failing(client, ({ Item }) => Item?.pk?.S === `L#${logId}#0`),
      table,
    );
    await killed.begin();
    await expect(killed.append(batchOf(1), stateOf(1))).rejects.toThrow("killed");
    expect(await openLog().tail()).toMatchObject({ logId, number: 0 });
    const next = openLog();
    expect(await next.begin()).toMatchObject({ logId, number: 0 });
    expect(await next.append(batchOf(1), stateOf(1))).toBe(true);
    expect(await openLog().tail()).toMatchObject({ logId, number: 1 });
  });

  test("no number is used twice when all or the last batches are deleted", async () => {
    const writer = openLog();
    const { logId } = await writer.begin();
    const old = Date.now() - 20 * dayMs;
    for (const number of [1, 2, 3]) {
      expect(await writer.append(batchOf(number, old), stateOf(number))).toBe(true);
    }
    const isBatch = ({ sk }: Item, numbers: readonly number[]) =>
      numbers.some((number) => sk?.S?.endsWith(`00${number}`));
    for (const deleted of [[3], [2], [1]]) {
      await deleteItems((item) => isBatch(item, deleted));
      const log = openLog();
      const tail = await log.begin();
      expect(tail).toMatchObject({ logId, number: 999 });
      expect(await log.state(tail)).toEqual({ positions: {}, gaps: [] });
    }
    const log = openLog();
    await log.begin();
    expect(await log.append(batchOf(1_000), stateOf(1_000))).toBe(true);
    expect(await openLog().tail()).toMatchObject({ logId, number: 1_000 });
    expect(await writer.tail()).toMatchObject({ logId, number: 1_000 });
    expect(await openLog().read(3, 10)).toEqual([]);
  });

  test("the head keeps the state for the time when no batch is left", async () => {
    const { logId } = await openLog().begin();
    const old = Date.now() - 20 * dayMs;
    await putLast(logId, 999, Date.now());
    const log = openLog();
    await log.state(await log.begin());
    expect(await log.append(batchOf(1_000, old), stateOf(1_000))).toBe(true);
    await deleteItems(({ pk }) => pk?.S !== "H");
    const next = openLog();
    const tail = await next.begin();
    expect(tail).toMatchObject({ logId, number: 1_999, time: old });
    expect(await next.state(tail)).toEqual(stateOf(999));
  });

  test("the first kept batch at or after a time is found", async () => {
    const log = openLog();
    await log.begin();
    const from = Date.now() - dayMs;
    for (let number = 1; number <= 9; number++) {
      await log.append(batchOf(number, from + number), stateOf(number));
    }
    for (let number = 1; number <= 9; number++) expect(await log.find(from + number)).toBe(number);
    expect(await log.find(0)).toBe(1);
    expect(await log.find(Date.now())).toBe(10);
    await deleteItems(({ sk }) => ["001", "002"].some((end) => sk?.S?.endsWith(end)));
    expect(await openLog().find(0)).toBe(3);
  });

  test("searches of one log look at the same few batches, each once", async () => {
    const log = openLog();
    await log.begin();
    const from = Date.now() - dayMs;
    for (let number = 1; number <= 60; number++) {
      await log.append(batchOf(number, from + number), stateOf(number));
    }
    const send = vi.spyOn(client, "send");
    onTestFinished(() => send.mockRestore());
    const times = [0, from + 20, from + 21, from + 60, 0, from + 20];
    const found = await Promise.all(times.map((time) => log.find(time)));
    expect(found).toEqual([1, 20, 21, 60, 1, 20]);
    const requests = () => send.mock.calls.length;
    // Each search asks for the end, and they look at 6 batches each, half of which are the same.
    expect(requests()).toBeLessThan(25);
    const before = requests();
    for (const time of times) await log.find(time);
    expect(requests() - before).toBe(times.length);
  });

  test("what is older than it is kept is not found, whether or not it is deleted", async () => {
    const log = openLog();
    await log.begin();
    for (const [i, age] of [20, 15, 13, 1].entries()) {
      await log.append(batchOf(i + 1, Date.now() - age * dayMs), stateOf(i));
    }
    expect(await log.find(0)).toBe(3);
  });

  test("an item expires a day after it is kept, and holds nothing that is not read", async () => {
    const log = openLog();
    await log.begin();
    await log.append(batchOf(1, 1_000), stateOf(1));
    const { Items = [] } = await client.send(new ScanCommand({ TableName: table }));
    const item = Items.find(({ pk }) => pk?.S !== "H");
    expect(Object.keys(item ?? {}).sort()).toEqual(["e", "pk", "s", "sk", "t", "ttl", "w"]);
    expect(Number(item?.ttl?.N)).toBe((1_000 + keptMs + dayMs) / 1_000);
  });
});

/** A client that throws instead of sending some of its writes. */
function failing(client: DynamoDBClient, fails: (input: { Item?: Item }) => boolean) {
  const send = async (command: { input: { Item?: Item } }) => {
    if (fails(command.input)) throw new Error("killed");
    return client.send(command as never);
  };
  return { send } as unknown as DynamoDBClient;
}
