/** Tests the faults, locks and isolation of the fault proxy through the application's client. */
import { randomUUID } from "node:crypto";
import type {
  AttributeValue,
  DynamoDBClientConfig,
  QueryCommandInput,
  TransactWriteItem,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  InternalServerError,
  ListTablesCommand,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  ThrottlingException,
  TransactGetItemsCommand,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { patience } from "../../test/support/fixtures/waiting.ts";
import { createDelays } from "./isolation.ts";
import type { DynamoProxy, FaultPlan } from "./proxy.ts";
import { FAULT_KINDS, startDynamoProxy } from "./proxy.ts";

const TABLE = `dynamo-proxy-test-${randomUUID()}`;
const upstream = inject("dynamodbEndpoint");
const opened: { destroy(): void }[] = [];

function connect(endpoint: string, config: DynamoDBClientConfig = {}): DynamoDBClient {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const region = "ap-northeast-1";
  const client = new DynamoDBClient({ endpoint, region, credentials, maxAttempts: 1, ...config });
  opened.push(client);
  return client;
}

let direct: DynamoDBClient;
let proxy: DynamoProxy;
let client: DynamoDBClient;

beforeAll(async () => {
  direct = connect(upstream);
  await direct.send(
    new CreateTableCommand({
      TableName: TABLE,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "p", KeyType: "HASH" },
        { AttributeName: "s", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "p", AttributeType: "S" },
        { AttributeName: "s", AttributeType: "N" },
        { AttributeName: "n", AttributeType: "N" },
      ],
      LocalSecondaryIndexes: [
        {
          IndexName: "by-n",
          KeySchema: [
            { AttributeName: "p", KeyType: "HASH" },
            { AttributeName: "n", KeyType: "RANGE" },
          ],
          Projection: { ProjectionType: "ALL" },
        },
      ],
    }),
  );
});

beforeEach(async () => {
  proxy = await startDynamoProxy({ upstream, seed: 7 });
  client = connect(proxy.endpoint);
});

afterEach(() => proxy.stop());

afterAll(() => {
  for (const each of opened) each.destroy();
});

const key = (p: string, s = "0") => ({ p: { S: p }, s: { N: s } });

const put = (p: string, s = "0"): TransactWriteItem => ({
  Put: { TableName: TABLE, Item: { ...key(p, s), v: { S: "put" } } },
});

const update = (p: string, s = "0"): TransactWriteItem => ({
  Update: {
    TableName: TABLE,
    Key: key(p, s),
    UpdateExpression: "ADD c :one",
    ExpressionAttributeValues: { ":one": { N: "1" } },
  },
});

const write = (...items: TransactWriteItem[]) =>
  new TransactWriteItemsCommand({ TransactItems: items });

const get = (p: string) =>
  new GetItemCommand({ TableName: TABLE, Key: key(p), ConsistentRead: true });

const isStored = async (p: string) => (await direct.send(get(p))).Item !== undefined;

const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const codes = (error: unknown): (string | undefined)[] => {
  expect(error).toBeInstanceOf(TransactionCanceledException);
  return ((error as TransactionCanceledException).CancellationReasons ?? []).map((r) => r.Code);
};

/** "ok", or the error's name with its reasons. The SDK calls a broken connection TimeoutError. */
async function outcome(sent: Promise<unknown>): Promise<string> {
  const error = await caught(sent);
  if (error instanceof TransactionCanceledException) return `${error.name} ${codes(error)}`;
  return error instanceof Error ? error.name : "ok";
}

/** Waits until the `n`-th transaction has arrived and holds its locks. */
async function underway(n = 1): Promise<void> {
  const arrived = () => proxy.stats().requests.TransactWriteItems ?? 0;
  await expect.poll(arrived).toBeGreaterThanOrEqual(n);
  await new Promise((resolve) => setTimeout(resolve, 60));
}

describe("with everything off", () => {
  test("requests and answers pass unchanged", async () => {
    const p = randomUUID();
    await client.send(write(put(p), put(p, "1")));
    const read = await client.send(get(p));
    expect(read.Item).toEqual({ ...key(p), v: { S: "put" } });
    const failing = {
      Put: {
        TableName: TABLE,
        Item: key(p),
        ConditionExpression: "attribute_not_exists(p)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
      },
    };
    const [viaProxy, straight] = await Promise.all(
      [client, direct].map((each) => caught(each.send(write(failing, put(p, "1"))))),
    );
    expect(codes(viaProxy)).toEqual(["ConditionalCheckFailed", "None"]);
    const reasons = (error: unknown) => (error as TransactionCanceledException).CancellationReasons;
    expect(reasons(viaProxy)).toEqual(reasons(straight));
    expect(String(viaProxy)).toBe(String(straight));
  });

  test("the store's headers are forwarded, and its Date can be shifted", async () => {
    const dateOf = async (endpoint: string) =>
      (await fetch(endpoint, { method: "POST", body: "{}" })).headers.get("date");
    const straight = await dateOf(upstream);
    expect(straight).not.toBeNull();
    const between = Date.parse((await dateOf(proxy.endpoint)) ?? "");
    expect(between).toBeGreaterThanOrEqual(Date.parse(straight ?? ""));
    expect(between).toBeLessThanOrEqual(Date.parse((await dateOf(upstream)) ?? ""));
    const before = Date.now();
    proxy.dateSkew(60_000);
    const shifted = Date.parse((await dateOf(proxy.endpoint)) ?? "");
    // The header has whole seconds.
    expect(shifted).toBeGreaterThan(before + 60_000 - 1_000);
    expect(shifted).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  test("requests are counted, passed to the hook and captured", async () => {
    const p = randomUUID();
    const seen: string[] = [];
    proxy.onRequest((operation, body) => {
      seen.push(`${operation} ${body.includes(p)}`);
      expect(proxy.stats().underWay).toBe(1);
    });
    await client.send(write(put(p)));
    proxy.capture(true);
    await client.send(get(p));
    proxy.capture(false);
    await client.send(get(p));
    const requests = { TransactWriteItems: 1, GetItem: 2 };
    const counts = { requests, forwarded: requests, upstreamErrors: 0, underWay: 0 };
    await expect.poll(() => proxy.stats(), patience).toMatchObject(counts);
    expect(seen).toEqual(["TransactWriteItems true", "GetItem true", "GetItem true"]);
    expect(proxy.captured()).toEqual([
      {
        operation: "GetItem",
        request: { TableName: TABLE, Key: key(p), ConsistentRead: true },
        status: 200,
        response: { Item: { ...key(p), v: { S: "put" } } },
        forwarded: true,
      },
    ]);
    proxy.resetStats();
    expect(proxy.stats().requests).toEqual({});
  });

  test("a binary value, which is base64 on the wire, is captured as bytes", async () => {
    const bytes = Buffer.from([0, 200, 255]);
    proxy.capture(true);
    const Item = { ...key(randomUUID()), b: { B: bytes } };
    await client.send(new PutItemCommand({ TableName: TABLE, Item }));
    proxy.capture(false);
    expect(proxy.captured()).toMatchObject([{ request: { Item: { b: { B: bytes } } } }]);
  });
});

describe("faults", () => {
  test("a transaction whose answer is lost has committed", async () => {
    const p = randomUUID();
    proxy.faults({ lostAnswer: 1 });
    expect(await caught(client.send(write(put(p))))).toMatchObject({ code: "ECONNRESET" });
    expect(await isStored(p)).toBe(true);
    expect(proxy.stats().faults.lostAnswer).toBe(1);
  });

  test("the SDK's retry after a lost answer finds the transaction committed", async () => {
    const p = randomUUID();
    proxy.faults({ lostAnswer: 1 });
    const retrying = connect(proxy.endpoint, { maxAttempts: 3 });
    proxy.onRequest(() => {
      if (proxy.stats().requests.TransactWriteItems === 2) proxy.faults({ conflict: 1 });
    });
    await retrying.send(write(update(p)));
    const { Item } = await direct.send(get(p));
    expect(Item?.c).toEqual({ N: "1" });
    expect(proxy.stats().faults).toMatchObject({ lostAnswer: 1, conflict: 0 });
  });

  test("an answer lost in silence runs into the client's timeout", async () => {
    const p = randomUUID();
    const requestHandler = { requestTimeout: 300, throwOnRequestTimeout: true };
    const impatient = connect(proxy.endpoint, { requestHandler });
    proxy.faults({ lostAnswer: 1, lostBy: "silence" });
    expect(await caught(impatient.send(write(put(p))))).toMatchObject({ name: "TimeoutError" });
    expect(await isStored(p)).toBe(true);
  });

  test("a conflict cancels without reaching the store", async () => {
    const p = randomUUID();
    proxy.faults({ conflict: 1 });
    const error = await caught(client.send(write(put(p), put(p, "1"), put(p, "2"))));
    const [first, ...others] = codes(error).toSorted();
    expect([first, ...others]).toHaveLength(3);
    expect(others).toContain("TransactionConflict");
    expect(new Set(codes(error))).toEqual(new Set(["None", "TransactionConflict"]));
    const reasons = (error as TransactionCanceledException).CancellationReasons ?? [];
    const conflict = reasons.find((reason) => reason.Code !== "None");
    expect(conflict?.Message).toBe("Transaction is ongoing for the item");
    expect((error as Error).message).toContain(`[${codes(error).join(", ")}]`);
    expect(await isStored(p)).toBe(false);
    await client.send(get(p));
    expect(proxy.stats().forwarded).toEqual({ GetItem: 1 });
  });

  test("throttling has the error that fits the operation", async () => {
    proxy.faults({ throttle: 1 });
    const read = await caught(client.send(get("x")));
    expect(read).toBeInstanceOf(ProvisionedThroughputExceededException);
    const seen = new Set<string>();
    for (let i = 0; i < 40; i += 1) {
      const error = await caught(client.send(write(put("x"))));
      if (!(error instanceof TransactionCanceledException)) {
        expect(error).toBeInstanceOf(ThrottlingException);
        seen.add("ThrottlingException");
      } else seen.add(`${codes(error)}`);
    }
    expect([...seen].toSorted()).toEqual([
      "ProvisionedThroughputExceeded",
      "ThrottlingError",
      "ThrottlingException",
    ]);
    expect(proxy.stats().forwarded).toEqual({});
  });

  test("after a server error the result is ambiguous", async () => {
    proxy.faults({ serverError: 1 });
    const users = Array.from({ length: 24 }, () => randomUUID());
    const stored = [];
    for (const p of users) {
      expect(await caught(client.send(write(put(p))))).toBeInstanceOf(InternalServerError);
      stored.push(await isStored(p));
    }
    expect(new Set(stored)).toEqual(new Set([true, false]));
    expect(proxy.stats().forwarded.TransactWriteItems).toBe(stored.filter(Boolean).length);
    expect(proxy.stats().faults.serverError).toBe(24);
  });

  test("delays, and the operations to which a plan applies", async () => {
    proxy.faults({ delay: 1, delayMs: [80, 90], operations: ["GetItem"] });
    const from = performance.now();
    await client.send(get("x"));
    expect(performance.now() - from).toBeGreaterThan(75);
    proxy.faults({ serverError: 1, operations: "writes" });
    await client.send(get("x"));
    expect(await outcome(client.send(write(put("x"))))).toBe("InternalServerError");
    proxy.faults({ serverError: 1, operations: "reads" });
    expect(await outcome(client.send(get("x")))).toBe("InternalServerError");
    proxy.faults({ serverError: 1 });
    await client.send(new ListTablesCommand({}));
    expect(proxy.stats().faults).toMatchObject({ delay: 1, serverError: 2 });
    expect(() => proxy.faults({ conflict: 0.7, throttle: 0.7 })).toThrow(RangeError);
  });

  test("the same seed draws the same faults", async () => {
    const plan: FaultPlan = { lostAnswer: 0.2, conflict: 0.2, throttle: 0.2, serverError: 0.2 };
    async function run(seed: number): Promise<string[]> {
      const each = await startDynamoProxy({ upstream, seed });
      const user = connect(each.endpoint);
      each.faults(plan);
      const outcomes = [];
      for (let i = 0; i < 30; i += 1) {
        await user.send(new ListTablesCommand({}));
        outcomes.push(await outcome(user.send(write(put(randomUUID()), put(randomUUID())))));
      }
      for (const kind of FAULT_KINDS) expect(each.stats().faults[kind]).toBeGreaterThan(0);
      await each.stop();
      return outcomes;
    }
    const first = await run(42);
    expect(await run(42)).toEqual(first);
    expect(await run(43)).not.toEqual(first);
  });

  test("while it is down no request is answered", async () => {
    await client.send(get("x"));
    proxy.down(true);
    // The first request uses a broken connection, the second one opens another.
    expect(await outcome(client.send(get("x")))).toBe("TimeoutError");
    expect(await outcome(client.send(get("x")))).toBe("TimeoutError");
    expect(proxy.stats().refused).toBeGreaterThan(0);
    expect(proxy.stats().requests).toEqual({ GetItem: 1 });
    proxy.down(false);
    await client.send(get("x"));
  });
});

describe("locks", () => {
  test("an overlapping transaction is cancelled at its items, a disjoint one passes", async () => {
    const [p, q] = [randomUUID(), randomUUID()];
    proxy.lock(2_000);
    // The key is part of an Item here, and numbers are compared as numbers.
    const order: string[] = [];
    const noted = async (name: string, sent: Promise<unknown>) => {
      const error = await caught(sent);
      order.push(name);
      return error;
    };
    const first = noted("first", client.send(write(put(p), put(p, "1.0"))));
    await underway();
    const disjoint = noted("disjoint", client.send(write(put(q), put(p, "2"))));
    const overlapping = client.send(write(put(p, "3"), update(p, "1"), put(p)));
    const loser = await noted("loser", overlapping);
    expect(codes(loser)).toEqual(["None", "TransactionConflict", "TransactionConflict"]);
    expect(await Promise.all([first, disjoint])).toEqual([undefined, undefined]);
    // Refused while the locks were held, not after that.
    expect(order[0]).toBe("loser");
    proxy.lock(1);
    await client.send(write(put(p, "3"), update(p, "1"), put(p)));
    expect(proxy.stats()).toMatchObject({ lockConflicts: 1, requests: { TransactWriteItems: 4 } });
  });

  test("other requests on a locked item", async () => {
    const p = randomUUID();
    await client.send(write(put(p)));
    proxy.lock(2_000);
    const first = client.send(write(update(p)));
    await underway(2);
    const Key = key(p);
    const single = [
      new PutItemCommand({ TableName: TABLE, Item: Key }),
      new UpdateItemCommand({ TableName: TABLE, Key, UpdateExpression: "REMOVE v" }),
    ];
    for (const command of single) {
      const error = await caught(client.send(command as PutItemCommand));
      expect(error).toBeInstanceOf(TransactionConflictException);
    }
    const reads = [key(p, "9"), Key].map((Key) => ({ Get: { TableName: TABLE, Key } }));
    const lost = await caught(client.send(new TransactGetItemsCommand({ TransactItems: reads })));
    expect(codes(lost)).toEqual(["None", "TransactionConflict"]);
    const { Item } = await client.send(get(p));
    expect(Item?.c).toBeUndefined();
    await client.send(new PutItemCommand({ TableName: TABLE, Item: key(p, "9") }));
    await first;
    await client.send(new TransactGetItemsCommand({ TransactItems: reads }));
    expect(proxy.stats().lockConflicts).toBe(3);
  });

  test("locks end with the transaction, committed or not", async () => {
    const p = randomUUID();
    const never = {
      ConditionCheck: {
        TableName: TABLE,
        Key: key(p),
        ConditionExpression: "attribute_exists(p)",
      },
    };
    proxy.lock(20);
    expect(codes(await caught(client.send(write(never))))).toEqual(["ConditionalCheckFailed"]);
    proxy.faults({ lostAnswer: 1 });
    expect(await outcome(client.send(write(put(p))))).toBe("TimeoutError");
    proxy.faults({});
    await client.send(write(never));
    proxy.lock(0);
    await Promise.all([client.send(write(update(p))), client.send(write(update(p)))]);
    expect(proxy.stats().lockConflicts).toBe(0);
  });

  test("resent with its token: in progress, then committed though items are locked", async () => {
    const p = randomUUID();
    proxy.lock(1_500);
    const TransactItems = [update(p)];
    const again = () =>
      client.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: p }));
    const first = again();
    await underway();
    expect(await caught(again())).toBeInstanceOf(TransactionInProgressException);
    await first;
    const other = client.send(write(put(p)));
    await underway(3);
    await again();
    await other;
    expect(proxy.stats()).toMatchObject({ inProgress: 1, lockConflicts: 0 });
  });

  test("concurrent updates of one item: those that do not conflict are all counted", async () => {
    const p = randomUUID();
    proxy.lock(5);
    const sent = Array.from({ length: 20 }, () => outcome(client.send(write(update(p)))));
    const won = (await Promise.all(sent)).filter((each) => each === "ok").length;
    const { Item } = await direct.send(get(p));
    expect(Item?.c).toEqual({ N: String(won) });
    expect(won + proxy.stats().lockConflicts).toBe(20);
  });
});

describe("isolation", () => {
  const table = { TableName: TABLE, ConsistentRead: true };
  const everyItemAfter = (ms: number) =>
    proxy.isolation({ applyMs: [0, 0], slowShare: 1, slowMs: ms });

  const remove = (p: string, s: string): TransactWriteItem => ({
    Delete: { TableName: TABLE, Key: key(p, s) },
  });

  /** Sends a transaction and waits until it has committed; its answer comes later. */
  async function applying(p: string, ...items: TransactWriteItem[]) {
    const transaction = { answered: false, over: Promise.resolve<unknown>(undefined) };
    const marked = [...items, put(p, "99")];
    transaction.over = client.send(write(...marked)).then(() => {
      transaction.answered = true;
    });
    const stored = () => direct.send(new GetItemCommand({ ...table, Key: key(p, "99") }));
    const options = { interval: 20 };
    await expect.poll(async () => (await stored()).Item, options).toBeDefined();
    return transaction;
  }

  /** All pages of a query. */
  async function pages(input: Partial<QueryCommandInput>): Promise<Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    let ExclusiveStartKey: Record<string, AttributeValue> | undefined;
    do {
      const query = new QueryCommand({ ...table, ...input, ExclusiveStartKey });
      const page = await client.send(query);
      expect(page.Items?.length).toBe(page.Count);
      expect(page.ScannedCount).toBeLessThanOrEqual(input.Limit ?? 100);
      found.push(...(page.Items ?? []));
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return found;
  }

  const partition = (p: string) => ({
    KeyConditionExpression: "p = :p AND s BETWEEN :from AND :to",
    ExpressionAttributeValues: { ":p": { S: p }, ":from": { N: "0" }, ":to": { N: "50" } },
  });

  const seen = (items: readonly (Record<string, AttributeValue> | undefined)[] = []) =>
    items
      .toSorted((a, b) => Number(a?.s?.N) - Number(b?.s?.N))
      .map((item) => (item?.c ? "after" : "before"))
      .join(" ");

  test("plain reads see one item after and another before, in both orders", async () => {
    const all = Array.from({ length: 12 }, () => randomUUID());
    await Promise.all(all.map((p) => direct.send(write(put(p), put(p, "1")))));
    proxy.isolation({ applyMs: [0, 5], slowShare: 0.5, slowMs: 4_000 });
    const sent = await Promise.all(all.map((p) => applying(p, update(p), update(p, "1"))));
    const reads = await Promise.all(
      all.map(async (p) => {
        const Keys = [key(p), key(p, "1")];
        const items = Keys.map((Key) => client.send(new GetItemCommand({ ...table, Key })));
        const RequestItems = { [TABLE]: { Keys, ConsistentRead: true } };
        const batch = await client.send(new BatchGetItemCommand({ RequestItems }));
        const query = await client.send(new QueryCommand({ ...table, ...partition(p) }));
        return {
          gets: seen((await Promise.all(items)).map(({ Item }) => Item)),
          batch: seen(batch.Responses?.[TABLE]),
          query: seen(query.Items),
        };
      }),
    );
    const orders = ["after after", "after before", "before after", "before before"];
    for (const read of ["gets", "batch", "query"] as const) {
      expect([...new Set(reads.map((each) => each[read]))].toSorted()).toEqual(orders);
    }
    // The writer gets its answer when all items are visible.
    for (const [i, { query }] of reads.entries()) {
      if (query !== "after after") expect(sent[i]?.answered).toBe(false);
    }
    await Promise.all(sent.map(({ over }) => over));
    for (const p of all) {
      const query = await client.send(new QueryCommand({ ...table, ...partition(p) }));
      expect(seen(query.Items)).toBe("after after");
    }
  });

  test("an item is read as it was until it is applied: changed, new or deleted", async () => {
    const p = randomUUID();
    await direct.send(write(put(p), put(p, "1")));
    everyItemAfter(1_500);
    const { over } = await applying(p, update(p), remove(p, "1"), put(p, "2"));
    const before = [key(p), key(p, "1")].map((each) => ({ ...each, v: { S: "put" } }));
    const Keys = ["0", "1", "2"].map((s) => key(p, s));
    const show = async () => {
      const items = await Promise.all(
        Keys.map(async (Key) => (await client.send(new GetItemCommand({ ...table, Key }))).Item),
      );
      const RequestItems = { [TABLE]: { Keys, ConsistentRead: true } };
      const { Responses } = await client.send(new BatchGetItemCommand({ RequestItems }));
      const scan = new ScanCommand({
        ...table,
        FilterExpression: "p = :p AND s < :s",
        ExpressionAttributeValues: { ":p": { S: p }, ":s": { N: "50" } },
      });
      return [
        items.filter((item) => item !== undefined),
        Responses?.[TABLE]?.toSorted((a, b) => Number(a.s?.N) - Number(b.s?.N)),
        await pages(partition(p)),
        (await client.send(scan)).Items?.toSorted((a, b) => Number(a.s?.N) - Number(b.s?.N)),
      ];
    };
    expect(await show()).toEqual([before, before, before, before]);
    await over;
    const after = [
      { ...key(p), v: { S: "put" }, c: { N: "1" } },
      { ...key(p, "2"), v: { S: "put" } },
    ];
    expect(await show()).toEqual([after, after, after, after]);
  });

  test("queries of a local index keep their order, pages and filters", async () => {
    const p = randomUUID();
    const row = (s: number, n: number, q?: boolean): TransactWriteItem => ({
      Put: {
        TableName: TABLE,
        Item: { ...key(p, String(s)), n: { N: String(n) }, ...(q && { q: { BOOL: true } }) },
      },
    });
    const rows = [row(1, 10), row(2, 20), row(3, 30, true), row(4, 40), row(5, 50), row(6, 99)];
    await direct.send(write(...rows, put(p, "7")));
    const queries = [1, 2, 3, 100].flatMap((Limit) =>
      [true, false].flatMap((ScanIndexForward) => [
        { ...partition(p), Limit, ScanIndexForward },
        {
          IndexName: "by-n",
          Limit,
          ScanIndexForward,
          KeyConditionExpression: "p = :p AND n BETWEEN :from AND :to",
          FilterExpression: "attribute_not_exists(q)",
          ProjectionExpression: "#n",
          ExpressionAttributeNames: { "#n": "n" },
          ExpressionAttributeValues: {
            ":p": { S: p },
            ":from": { N: "10" },
            ":to": { N: "60" },
          },
        },
      ]),
    );
    const all = () => Promise.all(queries.map(pages));
    everyItemAfter(4_000);
    const before = await all();
    expect(before[1]).toEqual([10, 20, 40, 50].map((n) => ({ n: { N: String(n) } })));
    // Out of the range, into it, within it, in and out of the filter, new, deleted.
    const moved = [row(1, 70), row(6, 15), row(4, 60), row(3, 30), row(5, 50, true), row(8, 25)];
    const sent = await applying(p, ...moved, remove(p, "2"), update(p, "7"));
    expect(await all()).toEqual(before);
    expect(sent.answered).toBe(false);
    await sent.over;
    const after = await all();
    expect(after[1]).toEqual([15, 25, 30, 60].map((n) => ({ n: { N: String(n) } })));
  });

  test("transactions and writes that meet a locked item are refused", async () => {
    const p = randomUUID();
    await direct.send(write(put(p), put(p, "1")));
    everyItemAfter(2_000);
    const { over } = await applying(p, update(p), remove(p, "1"));
    const Keys = [key(p, "9"), key(p), key(p, "1")];
    const reads = Keys.map((Key) => ({ Get: { TableName: TABLE, Key } }));
    const together = () => client.send(new TransactGetItemsCommand({ TransactItems: reads }));
    const conflicts = ["None", "TransactionConflict", "TransactionConflict"];
    expect(codes(await caught(together()))).toEqual(conflicts);
    const second = write(put(p, "9"), update(p), put(p, "1"));
    expect(codes(await caught(client.send(second)))).toEqual(conflicts);
    const single = new PutItemCommand({ TableName: TABLE, Item: key(p) });
    expect(await caught(client.send(single))).toBeInstanceOf(TransactionConflictException);
    const RequestItems = { [TABLE]: [{ DeleteRequest: { Key: key(p) } }] };
    const batch = await client.send(new BatchWriteItemCommand({ RequestItems }));
    expect(batch.UnprocessedItems).toEqual(RequestItems);
    await over;
    const { Responses } = await together();
    expect(Responses?.map(({ Item }) => Item?.c)).toEqual([undefined, { N: "1" }, undefined]);
    expect(proxy.stats().lockConflicts).toBe(4);
    proxy.isolation({ applyMs: [0, 0] });
    await client.send(second);
    await client.send(single);
    await client.send(new BatchWriteItemCommand({ RequestItems }));
    expect(await isStored(p)).toBe(false);
  });

  test("TransactGetItems is refused if a transaction starts while it is on its way", async () => {
    const p = randomUUID();
    await direct.send(write(put(p)));
    // The outer proxy sends its requests to the inner one, which delays this request.
    const outer = await startDynamoProxy({ upstream: proxy.endpoint });
    const user = connect(outer.endpoint);
    outer.isolation({ applyMs: [3_000, 3_000] });
    proxy.faults({ delay: 1, delayMs: [1_500, 1_500] });
    const Get = { TableName: TABLE, Key: key(p) };
    const snapshot = () => user.send(new TransactGetItemsCommand({ TransactItems: [{ Get }] }));
    const early = caught(snapshot());
    const arrived = () => proxy.stats().requests.TransactGetItems;
    await expect.poll(arrived).toBe(1);
    proxy.faults({});
    const writing = user.send(write(update(p)));
    expect(codes(await early)).toEqual(["TransactionConflict"]);
    expect((await user.send(get(p))).Item?.c).toBeUndefined();
    await writing;
    expect((await snapshot()).Responses?.[0]?.Item?.c).toEqual({ N: "1" });
    expect(outer.stats()).toMatchObject({ lockConflicts: 1, forwarded: { TransactGetItems: 2 } });
    await outer.stop();
  });

  test("a failed condition is answered by the store, at once, and hides no item", async () => {
    const p = randomUUID();
    await direct.send(write(put(p)));
    everyItemAfter(10_000);
    const onlyNew = {
      Put: {
        TableName: TABLE,
        Item: key(p),
        ConditionExpression: "attribute_not_exists(p)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
      },
    };
    const error = await caught(client.send(write(put(p, "1"), onlyNew)));
    expect(codes(error)).toEqual(["None", "ConditionalCheckFailed"]);
    const reasons = (error as TransactionCanceledException).CancellationReasons ?? [];
    expect(reasons[1]?.Item).toEqual({ ...key(p), v: { S: "put" } });
    const reads = [key(p), key(p, "1")].map((Key) => ({ Get: { TableName: TABLE, Key } }));
    await client.send(new TransactGetItemsCommand({ TransactItems: reads }));
    const nowhere = { Put: { TableName: `${TABLE}-not`, Item: key(p) } };
    expect(await outcome(client.send(write(nowhere)))).toBe("ResourceNotFoundException");
  });

  test("works together with locks, tokens and lost answers", async () => {
    const p = randomUUID();
    const Key = { TableName: TABLE, Key: key(p) };
    proxy.lock(2_000);
    everyItemAfter(2_000);
    const impatient = connect(proxy.endpoint);
    const again = () =>
      impatient.send(
        new TransactWriteItemsCommand({ TransactItems: [update(p)], ClientRequestToken: p }),
      );
    proxy.faults({ lostAnswer: 1 });
    const from = performance.now();
    const first = outcome(again());
    await underway();
    proxy.faults({});
    const snapshot = new TransactGetItemsCommand({ TransactItems: [{ Get: Key }] });
    expect(codes(await caught(client.send(snapshot)))).toEqual(["TransactionConflict"]);
    expect(await isStored(p)).toBe(false);
    await expect.poll(() => isStored(p)).toBe(true);
    expect(performance.now() - from).toBeGreaterThan(1_990);
    expect((await client.send(get(p))).Item).toBeUndefined();
    expect(await caught(again())).toBeInstanceOf(TransactionInProgressException);
    expect(await first).toBe("TimeoutError");
    expect(performance.now() - from).toBeGreaterThan(3_990);
    await again();
    expect((await client.send(get(p))).Item?.c).toEqual({ N: "1" });
  });

  test("the delays follow from the seed", () => {
    const isolation = { applyMs: [2, 10], slowShare: 0.2, slowMs: 80 } as const;
    const draw = (seed: number, first = 5) => {
      const delays = createDelays(seed);
      delays.set(isolation);
      return [delays.next(first), delays.next(300)].map((each) => each ?? []);
    };
    const [, drawn] = draw(1);
    expect(draw(1)).toEqual(draw(1));
    // Each transaction has its own sequence, however many items the earlier ones have.
    expect(draw(1, 50)[1]).toEqual(drawn);
    expect(draw(2)[1]).not.toEqual(drawn);
    const slow = drawn?.filter((ms) => ms === 80) ?? [];
    expect(slow.length).toBeGreaterThan(30);
    expect(slow.length).toBeLessThan(90);
    for (const ms of drawn ?? []) expect(ms === 80 || (ms >= 2 && ms < 10)).toBe(true);
    expect(createDelays(1).next(5)).toBeUndefined();
  });

  test("switched off, transactions are whole again, and those under way go on", async () => {
    const p = randomUUID();
    await direct.send(write(put(p)));
    everyItemAfter(1_000);
    const { over } = await applying(p, update(p));
    proxy.isolation(undefined);
    expect((await client.send(get(p))).Item?.c).toBeUndefined();
    expect(await outcome(client.send(write(update(p))))).toContain("TransactionConflict");
    await over;
    await Promise.all([client.send(write(update(p))), client.send(write(update(p)))]);
    expect((await client.send(get(p))).Item?.c).toEqual({ N: "3" });
  });

  test("a count has no items", async () => {
    const p = randomUUID();
    await client.send(write(put(p)));
    proxy.isolation({ applyMs: [0, 0] });
    const answer = await client.send(
      new QueryCommand({ ...table, ...partition(p), Select: "COUNT" }),
    );
    proxy.isolation(undefined);
    expect(answer).toMatchObject({ Count: 1, ScannedCount: 1 });
    expect(answer.Items).toBeUndefined();
  });

  test("reads that it cannot rewrite are refused", async () => {
    proxy.isolation({ applyMs: [0, 0] });
    const Key = key("x");
    const odd = [
      new GetItemCommand({ ...table, Key, ProjectionExpression: "v" }),
      new QueryCommand({ ...table, ...partition("x"), FilterExpression: "contains(v, :p)" }),
      new ScanCommand({ ...table, IndexName: "by-n" }),
    ];
    for (const command of odd) {
      const error = await caught(client.send(command as GetItemCommand));
      expect(error).toMatchObject({
        name: "UnsupportedByProxy",
        $metadata: { httpStatusCode: 500 },
      });
    }
    proxy.isolation(undefined);
    for (const command of odd.slice(0, 3)) await client.send(command as GetItemCommand);
  });
});

/** Facts about DynamoDB Local on which the tests of the commit engine depend. */
describe("DynamoDB Local", () => {
  test("returns the old item of every failed condition", async () => {
    const p = randomUUID();
    await direct.send(write(put(p), put(p, "1"), put(p, "2")));
    const onlyNew = (s: string): TransactWriteItem => ({
      Put: {
        TableName: TABLE,
        Item: key(p, s),
        ConditionExpression: "attribute_not_exists(p)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      },
    });
    const error = await caught(direct.send(write(onlyNew("0"), onlyNew("7"), onlyNew("2"))));
    const reasons = (error as TransactionCanceledException).CancellationReasons ?? [];
    expect(reasons.map((reason) => [reason.Code, reason.Item])).toEqual([
      ["ConditionalCheckFailed", { ...key(p), v: { S: "put" } }],
      ["None", undefined],
      ["ConditionalCheckFailed", { ...key(p, "2"), v: { S: "put" } }],
    ]);
  });

  test("reads many items consistently", async () => {
    const p = randomUUID();
    const Keys = Array.from({ length: 100 }, (_, s) => key(p, String(s)));
    await direct.send(write(...Keys.slice(0, 99).map((Key) => put(p, Key.s.N))));
    const RequestItems = { [TABLE]: { Keys, ConsistentRead: true } };
    const read = await direct.send(new BatchGetItemCommand({ RequestItems }));
    expect(read.Responses?.[TABLE]).toHaveLength(99);
    expect(read.UnprocessedKeys).toEqual({});
  });

  test("answers a token's transaction once, and evaluates a cancelled one again", async () => {
    const p = randomUUID();
    const send = (token: string, ...TransactItems: TransactWriteItem[]) =>
      outcome(
        direct.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: token })),
      );
    const token = randomUUID();
    expect(await send(token, update(p))).toBe("ok");
    expect(await send(token, update(p))).toBe("ok");
    expect((await direct.send(get(p))).Item?.c).toEqual({ N: "1" });
    expect(await send(token, put(p))).toBe("IdempotentParameterMismatchException");

    const needed = { ConditionExpression: "attribute_exists(p)" };
    const check = { ConditionCheck: { TableName: TABLE, Key: key(p, "5"), ...needed } };
    const second = randomUUID();
    const cancelled = "TransactionCanceledException ConditionalCheckFailed,None";
    expect(await send(second, check, update(p))).toBe(cancelled);
    expect(await send(second, check, update(p))).toBe(cancelled);
    await direct.send(write(put(p, "5")));
    expect(await send(second, check, update(p))).toBe("ok");
    expect((await direct.send(get(p))).Item?.c).toEqual({ N: "2" });
  });
});
