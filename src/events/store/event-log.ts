/**
 * The log of events in DynamoDB: one item for each batch, and the head, which says up to which
 * number batches may exist.
 */
import { randomUUID } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { type Item, N, num, pad, S, text } from "../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { createTurns } from "../../platform/work/turns.ts";
import {
  type EventLog,
  type EventLogReader,
  keptMs,
  type LogBatch,
  type LogState,
  type LogTail,
} from "../ports/log.ts";
import { decodeEvents, encodeEvents } from "../published/encoding.ts";

/** The batches in one partition, which takes 1,000 write units a second. */
const partitionSize = 1_000;

/**
 * DynamoDB may delete a batch so long after it was appended: a day later than it is kept, so that
 * the clocks of two processes never differ about whether it may be gone.
 */
const deletedAfterMs = keptMs + 24 * 3_600_000;

const headKey = { pk: S("H"), sk: S("H") };

const noState: LogState = { positions: {}, gaps: [] };

const encodeState = (state: LogState) => ({ B: deflateRawSync(JSON.stringify(state)) });

const stateOf = (item: Item | undefined): LogState =>
  item?.s?.B ? (JSON.parse(inflateRawSync(item.s.B).toString()) as LogState) : noState;

const partitionOf = (number: number): number => Math.floor(number / partitionSize);

const partitionKey = (logId: string, partition: number) => S(`L#${logId}#${partition}`);

const keyOf = (logId: string, number: number) => ({
  pk: partitionKey(logId, partitionOf(number)),
  sk: S(pad(number, 15)),
});

const batchOf = (item: Item): LogBatch => ({
  number: Number(text(item, "sk")),
  time: num(item, "t"),
  events: decodeEvents(item.e?.B ?? new Uint8Array()),
});

/** How many times of batches stay in memory for searches, and for how many ms. */
const keptTimes = { max: 10_000, ttl: 60_000 };

/** How many of them are read at once. */
const maxTimeReads = 8;

/** To decode a batch takes milliseconds, so that each has a turn of the event loop. */
const decodingTurn = createTurns();

/** The head of the log. All batches have lower numbers than `end`. */
interface Head {
  readonly logId: string;
  readonly end: number;
  /** The batch for which it was moved, which may not be there yet. */
  readonly next: number;
  /** The time of that batch. */
  readonly time: number;
}

const headOf = (item: Item): Head => ({
  logId: text(item, "i"),
  end: num(item, "n"),
  next: num(item, "b"),
  time: num(item, "t"),
});

/** The requests to the table. All reads are strongly consistent. */
function createItems(client: DynamoDBClient, TableName: string) {
  return {
    async get(Key: Item): Promise<Item | undefined> {
      const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
      return (await orUnavailable(client.send(command))).Item;
    },
    async query(input: Partial<QueryCommandInput>): Promise<readonly Item[]> {
      const command = new QueryCommand({ TableName, ConsistentRead: true, ...input });
      return (await orUnavailable(client.send(command))).Items ?? [];
    },
    /** Returns false when the condition does not hold. */
    async put(Item: Item, ConditionExpression: string, values?: Item): Promise<boolean> {
      const command = new PutItemCommand({
        ...{ TableName, Item, ConditionExpression },
        ...(values && { ExpressionAttributeValues: values }),
      });
      try {
        await orUnavailable(client.send(command));
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
        throw error;
      }
    },
  };
}

type Items = ReturnType<typeof createItems>;

/** Finds the last batch, from the last one that this process has found. */
function createTail({ get, query }: Items) {
  let known: LogTail | undefined;

  /** The last batch of a partition, unless it is so old that later ones may be deleted. */
  async function lastOf(logId: string, partition: number): Promise<LogTail | undefined> {
    const [item] = await query({
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": partitionKey(logId, partition) },
      ...{ ScanIndexForward: false, Limit: 1, ProjectionExpression: "sk, t" },
    });
    if (!item || num(item, "t") <= Date.now() - keptMs) return undefined;
    return { logId, number: Number(text(item, "sk")), time: num(item, "t") };
  }

  /** The head is moved before a batch is appended, which may be one partition behind. */
  async function byHead(): Promise<LogTail | undefined> {
    const item = await get(headKey);
    if (!item) return undefined;
    const { logId, end, next, time } = headOf(item);
    const last = partitionOf(end - 1);
    for (const partition of end > 1 ? [last, last - 1] : []) {
      const found = partition >= 0 ? await lastOf(logId, partition) : undefined;
      if (found) return found;
    }
    // A batch of a time that is kept would have been found: it is still to come. Else it, and any
    // number of batches behind it, may be deleted, whose numbers are not used again.
    const isToCome = time > Date.now() - keptMs;
    return { logId, number: (isToCome ? next : end) - 1, time };
  }

  return {
    async find(): Promise<LogTail | undefined> {
      const found = known && (await lastOf(known.logId, partitionOf(known.number)));
      const isWithin = found && (found.number + 1) % partitionSize > 0;
      known = isWithin ? found : await byHead();
      return known;
    },
    known: () => known,
    set(tail: LogTail | undefined) {
      known = tail;
    },
  };
}

type Tail = ReturnType<typeof createTail>;

/** Finds out when batches were appended, each once for the searches of a while: it stays. */
function createTimes({ query }: Items) {
  const known = new LRUCache<string, Promise<number>>(keptTimes);
  const inOrder = pLimit(maxTimeReads);

  async function read(logId: string, number: number): Promise<number> {
    const { pk, sk } = keyOf(logId, number);
    const [item] = await query({
      KeyConditionExpression: "pk = :pk AND sk = :sk",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
      ProjectionExpression: "t",
    });
    // What does not exist was deleted, or skipped behind deleted ones.
    return item ? num(item, "t") : 0;
  }

  /** The time of a batch that is not behind the last one. */
  return (logId: string, number: number): Promise<number> => {
    const key = `${logId} ${number}`;
    const found = known.get(key) ?? inOrder(() => read(logId, number));
    known.set(key, found);
    found.catch(() => known.delete(key));
    return found;
  };
}

function createReader(items: Items, tail: Tail): EventLogReader {
  const { query } = items;
  const timeOf = createTimes(items);
  return {
    tail: tail.find,
    async read(number, limit) {
      const logId = (tail.known() ?? (await tail.find()))?.logId;
      if (!logId) return [];
      const { pk, sk } = keyOf(logId, number);
      const items = await query({
        KeyConditionExpression: "pk = :pk AND sk >= :sk",
        ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
        Limit: limit,
      });
      const isNext = (item: Item, i: number) => Number(text(item, "sk")) === number + i;
      const end = items.findIndex((item, i) => !isNext(item, i));
      const batches: LogBatch[] = [];
      for (const item of end < 0 ? items : items.slice(0, end)) {
        await decodingTurn();
        batches.push(batchOf(item));
      }
      return batches;
    },
    async find(time) {
      const end = await tail.find();
      if (!end) return 1;
      const from = Math.max(time, Date.now() - keptMs);
      let before = 0;
      // In steps of powers of two, so that all searches of a log look at the same few batches.
      for (let step = 2 ** Math.ceil(Math.log2(end.number + 1)); step >= 1; step /= 2) {
        const number = before + step;
        if (number <= end.number && (await timeOf(end.logId, number)) < from) before = number;
      }
      return before + 1;
    },
  };
}

/** The log in a table. One object of it appends at a time, and any number of them reads. */
export function createEventLog(client: DynamoDBClient, TableName: string): EventLog {
  const items = createItems(client, TableName);
  const tail = createTail(items);
  /** Up to where the head is known to be. */
  let end = 0;
  /** The state of the last batch that this process has appended or found. */
  let last: { readonly number: number; readonly state: LogState } | undefined;

  async function state({ logId, number }: LogTail): Promise<LogState> {
    const item = (await items.get(keyOf(logId, number))) ?? (await items.get(headKey));
    last = { number, state: stateOf(item) };
    return last.state;
  }

  /**
   * Moves the head behind the partition of a batch, before the first batch of it. It holds the
   * state before that batch, for the time when no batch is kept any more. Returns false when
   * another process has moved it further.
   */
  async function moveHead(known: LogTail, { number, time }: LogBatch): Promise<boolean> {
    if (number < end) return true;
    const before =
      last?.number === number - 1 ? last.state : await state({ ...known, number: number - 1 });
    const moved = (partitionOf(number) + 1) * partitionSize;
    const isMoved = await items.put(
      {
        ...{ ...headKey, i: S(known.logId), n: N(moved), b: N(number), t: N(time) },
        s: encodeState(before),
      },
      "i = :i AND n <= :n",
      { ":i": S(known.logId), ":n": N(moved) },
    );
    if (isMoved) end = moved;
    return isMoved;
  }

  return {
    ...createReader(items, tail),
    async begin() {
      tail.set(undefined);
      end = 0;
      const found = await tail.find();
      if (found) return found;
      const head = { ...headKey, i: S(randomUUID()), n: N(1), b: N(1), t: N(Date.now()) };
      await items.put(head, "attribute_not_exists(pk)");
      return (await tail.find()) as LogTail;
    },
    state,
    async append(batch, next) {
      const known = tail.known();
      if (!known) throw new Error("the log has not begun");
      if (!(await moveHead(known, batch))) return false;
      const { number, time, events } = batch;
      const writer = S(randomUUID());
      const item = {
        ...keyOf(known.logId, number),
        ...{ t: N(time), w: writer, ttl: N(Math.ceil((time + deletedAfterMs) / 1_000)) },
        ...{ e: { B: encodeEvents(events) }, s: encodeState(next) },
      };
      // Sent again by the client after a lost answer, it finds the item that it has written itself.
      const isFree = "attribute_not_exists(pk) OR w = :w";
      if (!(await items.put(item, isFree, { ":w": writer }))) return false;
      tail.set({ logId: known.logId, number, time });
      last = { number, state: next };
      return true;
    },
  };
}
