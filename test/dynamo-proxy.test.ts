/** The proxy's faults and locks, as the SDK client of the application sees them. */
import { randomUUID } from "node:crypto";
import type { DynamoDBClientConfig, TransactWriteItem } from "@aws-sdk/client-dynamodb";
import {
  BatchGetItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  InternalServerError,
  ListTablesCommand,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  ThrottlingException,
  TransactGetItemsCommand,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { DynamoProxy, FaultPlan } from "./support/dynamo-proxy.ts";
import { FAULT_KINDS, startDynamoProxy } from "./support/dynamo-proxy.ts";

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

/** Waits until a lock is held: the `n`-th transaction has arrived and its keys are known. */
async function underway(n = 1): Promise<void> {
  const arrived = () => proxy.stats().requests.TransactWriteItems ?? 0;
  await expect.poll(arrived, { timeout: 30_000 }).toBeGreaterThanOrEqual(n);
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

  test("the store's headers arrive, and its Date can be shifted", async () => {
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
    // The header is cut to the second.
    expect(shifted).toBeGreaterThan(before + 60_000 - 1_000);
    expect(shifted).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  test("requests are counted, shown to the hook and captured", async () => {
    const p = randomUUID();
    const seen: string[] = [];
    proxy.onRequest((operation, body) => seen.push(`${operation} ${body.includes(p)}`));
    await client.send(write(put(p)));
    proxy.capture(true);
    await client.send(get(p));
    proxy.capture(false);
    await client.send(get(p));
    const requests = { TransactWriteItems: 1, GetItem: 2 };
    expect(proxy.stats()).toMatchObject({ requests, forwarded: requests, upstreamErrors: 0 });
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
});

describe("faults", () => {
  test("a lost answer has committed", async () => {
    const p = randomUUID();
    proxy.faults({ lostAnswer: 1 });
    expect(await caught(client.send(write(put(p))))).toMatchObject({ code: "ECONNRESET" });
    expect(await isStored(p)).toBe(true);
    expect(proxy.stats().faults.lostAnswer).toBe(1);
  });

  test("the SDK's own retry of a lost answer finds the transaction done", async () => {
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

  test("throttling has the form that fits the operation", async () => {
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

  test("after a server error nobody knows", async () => {
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

  test("delays, and the operations a plan is for", async () => {
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

  test("while down nothing answers", async () => {
    await client.send(get("x"));
    proxy.down(true);
    // The first finds its kept connection broken, the second opens another.
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
    // Both find their own key in an Item, and numbers are compared as numbers.
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
    // Refused while the locks were held, not when they had ended.
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

  test("locks end with the transaction, whatever came of it", async () => {
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

  test("resent under its token: in progress, then done even if others hold the items", async () => {
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

  test("an account of one transaction at a time, under fire", async () => {
    const p = randomUUID();
    proxy.lock(5);
    const sent = Array.from({ length: 20 }, () => outcome(client.send(write(update(p)))));
    const won = (await Promise.all(sent)).filter((each) => each === "ok").length;
    const { Item } = await direct.send(get(p));
    expect(Item?.c).toEqual({ N: String(won) });
    expect(won + proxy.stats().lockConflicts).toBe(20);
  });
});

/** Facts about DynamoDB Local that the commit engine rests on. */
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
