/** The log of events in DynamoDB: one item for each batch, and one that says where the log is. */
import { randomUUID } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { type Item, N, num, pad, S, text } from "../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { type EventLog, keptMs, type LogBatch, type LogState, type LogTail } from "../ports/log.ts";
import { decodeEvents, encodeEvents } from "../published/encoding.ts";

/** The batches in one partition, which takes 1,000 write units a second. */
const partitionSize = 1_000;

/** DynamoDB may delete a batch so long after it was appended. */
const deletedAfterMs = keptMs + 24 * 3_600_000;

const head = { pk: S("H"), sk: S("H") };

const noState: LogState = { positions: {}, gaps: [] };

const encodeState = (state: LogState) => ({ B: deflateRawSync(JSON.stringify(state)) });

const stateOf = (item: Item | undefined): LogState =>
  item?.s?.B ? (JSON.parse(inflateRawSync(item.s.B).toString()) as LogState) : noState;

const keyOf = (logId: string, number: number) => ({
  pk: S(`L#${logId}#${Math.floor(number / partitionSize)}`),
  sk: S(pad(number, 15)),
});

const batchOf = (item: Item): LogBatch => ({
  number: Number(text(item, "sk")),
  time: num(item, "t"),
  events: decodeEvents(item.e?.B ?? new Uint8Array()),
});

export function createEventLog(client: DynamoDBClient, TableName: string): EventLog {
  /** The log that `tail` has found, whose id never changes. */
  let known: LogTail | undefined;

  async function get(Key: Item): Promise<Item | undefined> {
    const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
    return (await orUnavailable(client.send(command))).Item;
  }

  async function query(logId: string, number: number, further: object): Promise<readonly Item[]> {
    const { pk, sk } = keyOf(logId, number);
    const command = new QueryCommand({
      TableName,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :pk AND sk >= :sk",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
      ...further,
    });
    return (await orUnavailable(client.send(command))).Items ?? [];
  }

  /** The last batch at or behind `number`, which is known to have existed. */
  async function last(logId: string, number: number): Promise<number> {
    const [item] = await query(logId, number, {
      ScanIndexForward: false,
      Limit: 1,
      ProjectionExpression: "sk",
    });
    const found = item ? Number(text(item, "sk")) : number;
    const isFull = found % partitionSize === partitionSize - 1;
    const [next] = isFull ? await query(logId, found + 1, { Limit: 1 }) : [];
    return next ? last(logId, found + 1) : found;
  }

  async function tail(): Promise<LogTail | undefined> {
    const item = known ? undefined : await get(head);
    if (!known && !item) return undefined;
    const { logId, number } = known ?? {
      logId: text(item as Item, "i"),
      number: num(item as Item, "n"),
    };
    known = { logId, number: await last(logId, number) };
    return known;
  }

  /** Notes where the log is, in case that nothing else of it is kept any more. */
  async function putHead({ number }: LogBatch, state: LogState, logId: string): Promise<void> {
    const Item = { ...head, i: S(logId), n: N(number), s: encodeState(state) };
    await orUnavailable(client.send(new PutItemCommand({ TableName, Item })));
  }
  return {
    tail,
    async begin() {
      const Item = { ...head, i: S(randomUUID()), n: N(0) };
      const command = new PutItemCommand({
        TableName,
        Item,
        ConditionExpression: "attribute_not_exists(pk)",
      });
      await orUnavailable(client.send(command)).catch((err: unknown) => {
        if (!(err instanceof ConditionalCheckFailedException)) throw err;
      });
      return (await tail()) as LogTail;
    },
    async state({ logId, number }) {
      return stateOf((await get(keyOf(logId, number))) ?? (await get(head)));
    },
    async append(batch, state) {
      const logId = known?.logId ?? (await tail())?.logId;
      if (!logId) throw new Error("the log has not begun");
      const writer = randomUUID();
      const { number, time, events } = batch;
      const command = new PutItemCommand({
        TableName,
        Item: {
          ...keyOf(logId, number),
          t: N(time),
          c: N(events.length),
          e: { B: encodeEvents(events) },
          s: encodeState(state),
          w: S(writer),
          ttl: N(Math.ceil((time + deletedAfterMs) / 1_000)),
        },
        // Sent again by the client after a lost answer, it finds the item that it has written itself.
        ConditionExpression: "attribute_not_exists(pk) OR w = :w",
        ExpressionAttributeValues: { ":w": S(writer) },
      });
      try {
        await orUnavailable(client.send(command));
      } catch (err) {
        if (err instanceof ConditionalCheckFailedException) return false;
        throw err;
      }
      known = { logId, number };
      if (number % partitionSize === 0) await putHead(batch, state, logId);
      return true;
    },
    async read(number, limit) {
      const logId = known?.logId ?? (await tail())?.logId;
      if (!logId) return [];
      const items = await query(logId, number, { Limit: limit });
      const batches = items.map(batchOf);
      return batches.filter((batch, i) => batch.number === number + i);
    },
    async find(time) {
      const end = await tail();
      if (!end) return 1;
      let [low, high] = [1, end.number + 1];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        const item = await get(keyOf(end.logId, middle));
        const isBefore: boolean = item === undefined || num(item, "t") < time;
        if (isBefore) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
}
