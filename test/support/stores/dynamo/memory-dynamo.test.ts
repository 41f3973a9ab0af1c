/**
 * Tests that DynamoDB in memory answers commands as DynamoDB Local does: random ones by a fixed
 * seed, and the cases that are rarely drawn. What DynamoDB Local lacks of AWS is tested at the end.
 */
import { randomUUID } from "node:crypto";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { expect, test } from "vitest";
import { localTableDefinitions } from "../../../../src/ops/tables/definitions.ts";
import { type Item, N, S } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import { ownTables } from "../own-tables.ts";
import { createMemoryDynamo } from "./memory-dynamo.ts";

const { names, clients } = ownTables("commands");
const definitions = localTableDefinitions(names);

const kinds = {
  get: GetItemCommand,
  getBatch: BatchGetItemCommand,
  query: QueryCommand,
  scan: ScanCommand,
  put: PutItemCommand,
  delete: DeleteItemCommand,
  writeBatch: BatchWriteItemCommand,
  transactGet: TransactGetItemsCommand,
  transactWrite: TransactWriteItemsCommand,
};

/** A command, which is made anew for each store. */
type Sent = readonly [kind: keyof typeof kinds, input: object];

/** What a store answers; of an error what the callers read of it. */
async function answerOf(client: DynamoDBClient, [kind, input]: Sent): Promise<object> {
  try {
    const command = new (kinds[kind] as typeof GetItemCommand)(input as never);
    const {
      $metadata: _,
      ConsumedCapacity: _units,
      ...answer
    } = (await client.send(command)) as Answer;
    return sorted(answer);
  } catch (error) {
    // The clients of a process tell a refusal by their own error, with the code of AWS.
    const { metadata, Item: item, CancellationReasons } = error as Refusal;
    const name = metadata?.code ?? (error as Refusal).name;
    if (!name.endsWith("Exception")) throw error;
    const reasons = CancellationReasons?.map(({ Code, Item: old }) => ({ Code, old }));
    return { name, item, reasons };
  }
}

interface Answer {
  readonly $metadata: unknown;
  readonly ConsumedCapacity?: unknown;
  readonly Responses?: unknown;
  readonly UnprocessedKeys?: object;
}

interface Refusal {
  readonly name: string;
  readonly metadata?: { readonly code?: string };
  readonly Item?: Item;
  readonly CancellationReasons?: readonly { readonly Code?: string; readonly Item?: Item }[];
}

/** The items of a batch have no order. */
function sorted(answer: Omit<Answer, "$metadata">): object {
  const { Responses: found } = answer;
  if (typeof found !== "object" || Array.isArray(found)) return answer;
  const responses = Object.values(found ?? {}).flatMap((items) =>
    (items as Item[]).toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)),
  );
  return { ...answer, Responses: responses };
}

const textOf = (item: Item): string => JSON.stringify([item.pk, item.sk]);

/** Sends commands one after another to both, and expects the same answers. Returns them. */
async function compare(commands: readonly Sent[], memory = openMemory()): Promise<object[]> {
  const answers: object[] = [];
  for (const command of commands) {
    const expected = await answerOf(clients.single, command);
    const actual = await answerOf(memory, command);
    expect(actual, JSON.stringify(command)).toEqual(expected);
    answers.push(actual);
  }
  return answers;
}

const openMemory = () => createMemoryDynamo(definitions).client;

const reactions = names("reactions");
const inReactions = { TableName: reactions };
const partitionOf = () => `R#${randomUUID().slice(0, 8)}`;

/** Sort keys whose order differs by UTF-8, by UTF-16 and by length. */
const sortKeys = ["a", "a#1", "a#2", "ab", "b", "B", "é", "z", "～", "😀", "a\u{10ffff}"];

const put = (item: Item, more: object = {}): Sent => [
  "put",
  { ...inReactions, Item: item, ...more },
];

/** Draws values of one run. */
type Draw = fc.GeneratorValue;

const one = <T>(draw: Draw, values: readonly T[]): T => draw(fc.constantFrom<T[]>, ...values);
/** A small number, so that conditions hold as often as they fail. */
const small = (draw: Draw): number => draw(fc.integer, { min: -2, max: 9 });
const maybe = <T>(draw: Draw, value: () => T): T | undefined =>
  draw(fc.boolean) ? value() : undefined;

const keyOf = (draw: Draw, pk: string): Item => ({ pk: S(pk), sk: S(one(draw, sortKeys)) });
const keysOf = (draw: Draw, pk: string): Item[] =>
  draw(fc.subarray<string>, [...sortKeys], { minLength: 1, maxLength: 4 }).map((sk) => ({
    ...{ pk: S(pk), sk: S(sk) },
  }));

/** No two items have one `n`, because the order of equal sort keys in an index is not defined. */
const numberOf = ({ sk }: Item, n: number): Item => ({
  n: N(n * sortKeys.length + sortKeys.indexOf(sk?.S ?? "")),
});

const itemOf = (draw: Draw, key: Item): Item => ({
  ...key,
  ...maybe(draw, () => numberOf(key, small(draw))),
  ...maybe(draw, () => ({ t: N(small(draw)) })),
  ...maybe(draw, () => ({ q: { BOOL: true } })),
  ...{ v: N(small(draw)), k: { B: Uint8Array.of(small(draw) & 1) } },
});

const conditions = [
  "attribute_not_exists(pk)",
  "v = :v",
  "attribute_not_exists(pk) OR v = :v",
  "attribute_not_exists(pk) OR k = :k",
];

const conditionOf = (draw: Draw) => {
  const ConditionExpression = one(draw, conditions);
  return {
    ConditionExpression,
    ...maybe(draw, () => ({ ReturnValuesOnConditionCheckFailure: "ALL_OLD" })),
    ...valuesOf(ConditionExpression, { ":v": N(small(draw)), ":k": { B: Uint8Array.of(1) } }),
  };
};

/** The values that an expression uses. */
function valuesOf(text: string, values: Item): { ExpressionAttributeValues?: Item } {
  const used = Object.entries(values).filter(([name]) => text.includes(name));
  return used.length > 0 ? { ExpressionAttributeValues: Object.fromEntries(used) } : {};
}

function actionOf(draw: Draw, Key: Item): object {
  const condition = { ...inReactions, ...conditionOf(draw) };
  const op = one(draw, ["Put", "Put", "Delete", "ConditionCheck"]);
  return { [op]: { ...condition, ...(op === "Put" ? { Item: itemOf(draw, Key) } : { Key }) } };
}

const ranges = ["", " AND # = :a", " AND # < :a", " AND # <= :a", " AND # > :a", " AND # >= :a"];
const betweens = [" AND # BETWEEN :a AND :b", " AND # BETWEEN :a AND :b"];
const prefixes = [" AND begins_with(#, :a)", " AND begins_with(#, :a)"];
const filters = [
  "attribute_not_exists(q)",
  "v > :f AND NOT attribute_exists(q)",
  "(attribute_exists(q) OR NOT t < :f) AND v >= :f",
  "NOT (v BETWEEN :f AND :g OR t = :f)",
];

function queryOf(draw: Draw, pk: string): Sent {
  const isIndex = draw(fc.boolean);
  const [name, ends] = isIndex ? ["n", betweens] : ["sk", [...betweens, ...prefixes]];
  const range = one(draw, [...ranges, ...ends]).replace("#", name);
  const key = `pk = :p${range}`;
  // Without a start key, and with ends that no item has: DynamoDB Local returns no cursor behind
  // an item that has the last key of the range.
  const isExact = /=|begins_with/.test(range.replace(/[<>]=/, ""));
  const text = () => `${one(draw, sortKeys)}${isExact ? "" : "!"}`;
  const sort = () => (isIndex ? N(small(draw) * sortKeys.length - 0.5) : S(text()));
  const FilterExpression = maybe(draw, () => one(draw, filters));
  const counts = maybe(draw, () => ({ Select: "COUNT" }));
  const projected = { ProjectionExpression: "v, #s", ExpressionAttributeNames: { "#s": "sk" } };
  const start = range.includes(" = ") ? undefined : maybe(draw, () => keyOf(draw, pk));
  const values = { ":p": S(pk), ":a": sort(), ":b": sort(), ":f": N(small(draw)), ":g": N(4) };
  return [
    "query",
    {
      ...inReactions,
      ...{ ConsistentRead: true, ScanIndexForward: draw(fc.boolean) },
      ...(isIndex && { IndexName: "by-n" }),
      KeyConditionExpression: key,
      ...(FilterExpression && { FilterExpression }),
      ...valuesOf(`${key} ${FilterExpression}`, values),
      ...(counts ?? maybe(draw, () => projected)),
      ...maybe(draw, () => ({ Limit: draw(fc.integer, { min: 1, max: 4 }) })),
      ...(start && {
        ExclusiveStartKey: { ...start, ...(isIndex && numberOf(start, small(draw))) },
      }),
    },
  ];
}

const commandsOf: readonly ((draw: Draw, pk: string) => Sent)[] = [
  queryOf,
  queryOf,
  queryOf,
  (draw, pk) => put(itemOf(draw, keyOf(draw, pk)), conditionOf(draw)),
  (draw, pk) => ["delete", { ...inReactions, Key: keyOf(draw, pk), ...conditionOf(draw) }],
  (draw, pk) => ["get", { ...inReactions, Key: keyOf(draw, pk) }],
  (draw, pk) => ["getBatch", { RequestItems: { [reactions]: { Keys: keysOf(draw, pk) } } }],
  (draw, pk) => {
    const requests = keysOf(draw, pk).map((Key) => ({ DeleteRequest: { Key } }));
    return ["writeBatch", { RequestItems: { [reactions]: requests } }];
  },
  (draw, pk) => {
    const TransactItems = keysOf(draw, pk).map((Key) => ({ Get: { ...inReactions, Key } }));
    return ["transactGet", { TransactItems }];
  },
  (draw, pk) => {
    const TransactItems = keysOf(draw, pk).map((key) => actionOf(draw, key));
    return ["transactWrite", { ClientRequestToken: randomUUID(), TransactItems }];
  },
];

const commandOf = (draw: Draw, pk: string): Sent =>
  (commandsOf[draw(fc.nat, commandsOf.length - 1)] as (typeof commandsOf)[number])(draw, pk);

test("random commands for one partition and its local index", async () => {
  const memory = openMemory();
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    const pk = partitionOf();
    const items = keysOf(draw, pk).concat(keysOf(draw, pk));
    await compare(
      items.map((key) => put(itemOf(draw, key))),
      memory,
    );
    for (let i = 0; i < 15; i++) await compare([commandOf(draw, pk)], memory);
  });
  await fc.assert(property, { numRuns: 100, endOnFailure: true, seed: 20_261_127 });
});

/** The pages of a query or a scan by the cursors of its answers, until one has none. */
async function pagesOf(client: DynamoDBClient, [kind, input]: Sent): Promise<Item[][]> {
  const pages: Item[][] = [];
  let start: Item | undefined;
  do {
    const from = start && { ExclusiveStartKey: start };
    const answer = (await answerOf(client, [kind, { ...input, ...from }])) as Page;
    pages.push(answer.Items);
    start = answer.LastEvaluatedKey;
  } while (start && pages.length < 100);
  return pages;
}

interface Page {
  readonly Items: Item[];
  readonly LastEvaluatedKey?: Item;
}

const keysIn = (pages: readonly Item[][]): string[] => pages.flat().map(textOf).sort();

test("pages of equal sort keys, of an index and of scans have each item once", async () => {
  const memory = openMemory();
  const user = randomUUID();
  const partitions = Array.from({ length: 12 }, partitionOf);
  const items = partitions.map((pk, i) => ({ pk: S(pk), sk: S(user), t: N(i >> 2), n: N(1) }));
  const [pk] = partitions.map(S) as [Item[string]];
  const ties = sortKeys.map((sk): Item => ({ pk, sk: S(sk), n: N(1) }));
  await compare(
    [...items, ...ties].map((item) => put(item)),
    memory,
  );
  const ofUser = { IndexName: "by-person", KeyConditionExpression: "sk = :u" };
  const ofTies = { IndexName: "by-n", KeyConditionExpression: "pk = :p" };
  const queries: Sent[] = [
    { ...ofUser, ExpressionAttributeValues: { ":u": S(user) } },
    { ...ofUser, ExpressionAttributeValues: { ":u": S(user) }, ScanIndexForward: false },
    { ...ofTies, ExpressionAttributeValues: { ":p": pk } },
  ].map((query): Sent => ["query", { ...inReactions, ...query, Limit: 3 }]);
  const mine = "sk = :u AND t BETWEEN :one AND :two";
  const values = { ":u": S(user), ":one": N(1), ":two": N(2) };
  const filter = { FilterExpression: mine, ExpressionAttributeValues: values };
  const scans = [0, 1, 2].map((Segment): Sent => {
    return ["scan", { ...inReactions, ...filter, Segment, TotalSegments: 3, Limit: 40 }];
  });
  for (const command of queries) {
    const [expected, found] = [
      await pagesOf(clients.single, command),
      await pagesOf(memory, command),
    ];
    expect(keysIn(found)).toEqual(keysIn(expected));
    expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  }
  const scanned = (client: DynamoDBClient) =>
    Promise.all(scans.map((scan) => pagesOf(client, scan))).then((all) => keysIn(all.flat()));
  expect(await scanned(memory)).toEqual(await scanned(clients.single));
  expect(await scanned(memory)).toEqual(items.slice(4).map(textOf).sort());
});

test("pages end after 1 MB", async () => {
  const memory = openMemory();
  const pk = S(partitionOf());
  // The third item ends a page, and the last one fills it to the byte.
  const blobs = [300_000, 400_000, 348_000, 1, 350_000, 350_000, 300_000];
  const heavy = blobs.map((length, i) =>
    put({ pk, sk: S(`${i}`), b: { B: Buffer.alloc(length) } }),
  );
  const query = { KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": pk } };
  const page = { ...inReactions, ...query };
  await compare(heavy, memory);
  const keys = async (client: DynamoDBClient, more: object) =>
    (await pagesOf(client, ["query", { ...page, ...more }])).map((items) => items.map(textOf));
  for (const more of [{}, { ScanIndexForward: false }, { Limit: 3 }]) {
    expect(await keys(memory, more)).toEqual(await keys(clients.single, more));
  }
});

test("requests that are refused", async () => {
  const pk = S(partitionOf());
  const key = { pk, sk: S("a") };
  const query = { ...inReactions, KeyConditionExpression: "pk = :p" };
  const values = { ":p": pk };
  const q = (more: object, given: object = values): Sent => [
    "query",
    { ...query, ExpressionAttributeValues: given, ...more },
  ];
  const transaction = (count: number, length = 1, more: object = {}): Sent => {
    const b = { B: Buffer.alloc(length) };
    const TransactItems = Array.from({ length: count }, (_, i) => ({
      Put: { ...inReactions, Item: { pk, sk: S(`${i}`), b }, ...more },
    }));
    return ["transactWrite", { ClientRequestToken: randomUUID(), TransactItems }];
  };
  const keys = (count: number) => Array.from({ length: count }, (_, i) => ({ pk, sk: S(`${i}`) }));
  const batch = (Keys: Item[]): Sent => ["getBatch", { RequestItems: { [reactions]: { Keys } } }];
  const deletes = (all: Item[]): Sent => {
    const requests = all.map((Key) => ({ DeleteRequest: { Key } }));
    return ["writeBatch", { RequestItems: { [reactions]: requests } }];
  };
  const start = (ExclusiveStartKey: object, more: object = {}) => q({ ExclusiveStartKey, ...more });
  const answers = await compare([
    put({ pk }),
    put({ ...key, n: S("1") }),
    put({ pk, sk: S("") }),
    put({ ...key, b: { N: "NaN" } }),
    put({ ...key, b: { B: Buffer.alloc(409_600) } }),
    ["get", { ...inReactions, Key: { pk } }],
    ["get", { ...inReactions, Key: { ...key, n: N(1) } }],
    ["get", { TableName: "nowhere", Key: key }],
    q({ Limit: 0 }),
    q({ IndexName: "none" }),
    q({ IndexName: "by-person", KeyConditionExpression: "sk = :p", ConsistentRead: true }),
    q({ KeyConditionExpression: "sk = :p" }),
    q({ KeyConditionExpression: "pk > :p" }),
    q({ KeyConditionExpression: "pk = :p AND n = :p" }),
    q({}, { ":p": pk, ":x": N(1) }),
    q({}, {}),
    q({}, { ":p": N(1) }),
    q({ FilterExpression: "sk = :p" }),
    start({ pk }),
    start({ ...key, n: N(1) }),
    start({ pk: S("another"), sk: S("a") }),
    start({ pk, sk: N(1) }),
    start(key, { IndexName: "by-n" }),
    transaction(0),
    transaction(101),
    transaction(12, 390_000),
    transaction(2, 1, { Item: { pk } }),
    ["transactGet", { TransactItems: keys(101).map((Key) => ({ Get: { ...inReactions, Key } })) }],
    batch([]),
    batch(keys(101)),
    batch([key, key]),
    deletes([]),
    deletes(keys(26)),
    deletes([key, key]),
  ]);
  for (const answer of answers) {
    expect(answer).toMatchObject({ name: expect.stringMatching(/^(Validation|ResourceNot)/) });
  }
  await compare([transaction(100), batch(keys(100)), deletes(keys(25))]);
});

test("a token is of one transaction, which happens once", async () => {
  const pk = S(partitionOf());
  const writes = (version: number, ClientRequestToken: string): Sent => {
    const Item = { pk, sk: S("a"), v: N(version) };
    const before = { ":v": N(version - 1) };
    const condition = { ConditionExpression: "v = :v", ExpressionAttributeValues: before };
    return [
      "transactWrite",
      { ClientRequestToken, TransactItems: [{ Put: { ...inReactions, Item, ...condition } }] },
    ];
  };
  const [early, late] = [randomUUID(), randomUUID()];
  const read: Sent = ["get", { ...inReactions, Key: { pk, sk: S("a") } }];
  await compare([
    writes(2, early),
    put({ pk, sk: S("a"), v: N(1) }),
    ...[writes(2, early), writes(2, early), read],
    ...[writes(3, early), writes(3, late), read, writes(2, early), read],
  ]);
});

test("writes of an item in a transaction under way are refused, or left unprocessed", async () => {
  const gate = Promise.withResolvers<void>();
  const { client } = createMemoryDynamo(definitions, () => () => gate.promise);
  const locked: Item = { pk: S("p"), sk: S("a") };
  const free: Item = { pk: S("p"), sk: S("b") };
  const ask = (...sent: Sent) => answerOf(client, sent);
  const TransactItems = [{ Put: { ...inReactions, Item: { ...locked, v: N(1) } } }];
  const committed = ask("transactWrite", { ClientRequestToken: "one", TransactItems });
  const conflict = { name: "TransactionConflictException" };
  expect(await ask(...put(locked))).toMatchObject(conflict);
  expect(await ask("delete", { ...inReactions, Key: locked })).toMatchObject(conflict);
  const requests = [locked, free].map((Item) => ({ PutRequest: { Item } }));
  expect(await ask("writeBatch", { RequestItems: { [reactions]: requests } })).toEqual({
    UnprocessedItems: { [reactions]: requests.slice(0, 1) },
  });
  const Get = { ...inReactions, Key: locked };
  expect(await ask("get", Get)).toEqual({});
  expect(await ask("transactGet", { TransactItems: [{ Get }] })).toMatchObject({
    reasons: [{ Code: "TransactionConflict" }],
  });
  gate.resolve();
  expect(await committed).toEqual({});
  expect(await ask("get", Get)).toEqual({ Item: { ...locked, v: N(1) } });
});
