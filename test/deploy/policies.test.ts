/** Tests what the policies are made of, and that real processes of test runs are held to them. */
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, onTestFinished, test } from "vitest";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { authorizerOf } from "../support/deploy/authorize.ts";
import { composeAs } from "../support/deploy/compose-as.ts";
import {
  destinationAccess,
  dynamoDbNeeds,
  s3Access,
  streamsAccess,
} from "../support/deploy/iam-actions.ts";
import {
  allowedBy,
  evaluate,
  policies,
  type Role,
  statementsOf,
} from "../support/deploy/policies.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { projectRoot } from "../support/markdown.ts";
import { noWorkflows } from "../support/servers/no-workflows.ts";
import { createMemoryTables } from "../support/stores/memory-clients.ts";

const names = Object.values(policies).flat();

test.each(names)(
  "%s.json allows actions one by one, on tables, indexes, streams and objects",
  (name) => {
    const statements = statementsOf(name);
    expect(statements.map(({ Effect }) => Effect)).toEqual(statements.map(() => "Allow"));
    const access = allowedBy(name);
    expect(access).toEqual([...new Set(access)]);
    // Of a bucket all objects, and of a table the stream that it has now.
    const named = access.map((each) => each.replace(/(^s3:\w+ |\/stream)\/\*$/, "$1"));
    expect(named.filter((each) => /[*?]/.test(each))).toEqual([]);
    const resources = tableDefinitions((table) => table).flatMap(({ create }) => {
      const indexes = [
        create.GlobalSecondaryIndexes ?? [],
        create.LocalSecondaryIndexes ?? [],
      ].flat();
      const { TableName: table } = create;
      const streams = create.StreamSpecification ? [`${table}/stream/*`] : [];
      return [table, ...indexes.map(({ IndexName }) => `${table}/index/${IndexName}`), ...streams];
    });
    const used = access.filter((each) => each.startsWith("dynamodb:"));
    expect(resources).toEqual(expect.arrayContaining(used.map((each) => each.split(" ")[1])));
  },
);

// The store reads one record by GetItem and several by BatchGetItem: how many depends on what it
// still has in memory, so a tour of all calls need not see both. Servers read the log of events
// batch by batch, and nothing else of its table.
const kinds = ["server", "worker", "events"];
test.each(kinds)("%s.json lets all that is read be read in batches", (name) => {
  const access = allowedBy(name).filter((each) => name !== "server" || !each.endsWith(" events"));
  const reads = access.filter((each) => each.startsWith("dynamodb:GetItem "));
  expect(reads).not.toEqual([]);
  expect(access).toEqual(
    expect.arrayContaining(reads.map((each) => each.replace("GetItem", "BatchGetItem"))),
  );
});

test.each([
  ["server", ["S#*"]],
  ["worker", ["S#*", "D#*"]],
])("%s.json deletes no account, and nothing of points but marks and due hours", (name, keys) => {
  const deleting = statementsOf(name).filter(
    ({ Action, Resource }) =>
      Action.some((action) => /DeleteItem|BatchWriteItem/.test(action)) &&
      Resource.some((resource) => /(accounts|points)$/.test(resource)),
  );
  expect(deleting.map(({ Condition }) => Condition)).toEqual([
    { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": keys } },
  ]);
});

test("the events process writes nothing but the log, its subscriptions and leases", () => {
  const writing = statementsOf("events").filter(({ Action }) =>
    Action.some((action) => /(Put|Update|Delete|BatchWrite)Item/.test(action)),
  );
  const tablesOf = writing.map(({ Resource, Condition }) => [
    Resource.map((each) => each.split("}").at(-1)),
    Condition,
  ]);
  expect(tablesOf).toEqual([
    [["events"], undefined],
    [["points"], { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["H#*"] } }],
  ]);
});

test("acts are only put and read, through the indexes only by servers", () => {
  const ofActs = (name: string) =>
    allowedBy(name).filter((each) => / acts(\/|$)/.test(each) && !each.includes(":Describe"));
  const server = [
    ...["GetItem", "BatchGetItem", "ConditionCheckItem", "PutItem", "Query"].map(
      (action) => `dynamodb:${action} acts`,
    ),
    "dynamodb:Query acts/index/by-subject",
    "dynamodb:Query acts/index/by-user",
  ];
  const worker = ["dynamodb:PutItem acts", "dynamodb:Query acts"];
  expect(["server", "worker"].map(ofActs)).toEqual([server, worker]);
});

test("a command needs the actions that AWS documents for it", () => {
  const one = { TableName: "points" };
  const accesses = (command: string, input: object) =>
    dynamoDbNeeds(command, input).map(({ access }) => access);
  expect(accesses("GetItem", one)).toEqual(["dynamodb:GetItem points"]);
  expect(accesses("Query", { ...one, IndexName: "expiry" })).toEqual([
    "dynamodb:Query points/index/expiry",
  ]);
  const TransactItems = ["Put", "Update", "Delete", "ConditionCheck"].map((part) => ({
    [part]: one,
  }));
  expect(accesses("TransactWriteItems", { TransactItems })).toEqual(
    ["Put", "Update", "Delete", "ConditionCheck"].map((part) => `dynamodb:${part}Item points`),
  );
  expect(accesses("TransactGetItems", { TransactItems: [{ Get: one }] })).toEqual([
    "dynamodb:GetItem points",
  ]);
  const RequestItems = { points: { Keys: [] }, bulk: { Keys: [] } };
  expect(accesses("BatchGetItem", { RequestItems })).toEqual([
    "dynamodb:BatchGetItem points",
    "dynamodb:BatchGetItem bulk",
  ]);
  const object = { Bucket: "campaigns", Key: "in/a.csv" };
  expect(s3Access("ListObjectsV2", object)).toEqual(["s3:ListBucket campaigns"]);
  expect(s3Access("CopyObject", object)).toEqual([
    "s3:GetObject campaigns/*",
    "s3:PutObject campaigns/*",
  ]);
});

test("reading streams and sending events need the actions that AWS documents for them", () => {
  const stream =
    "arn:aws:dynamodb:ddblocal:000000000000:table/shop-bulk/stream/2026-11-29T22:31:00";
  const bulk = "shop-bulk/stream/*";
  expect([
    streamsAccess("DescribeStream", { StreamArn: stream }),
    streamsAccess("GetRecords", { ShardIterator: `${stream}|1|AAAA` }),
    streamsAccess("ListStreams", {}),
  ]).toEqual([
    `dynamodb:DescribeStream ${bulk}`,
    `dynamodb:GetRecords ${bulk}`,
    "dynamodb:ListStreams *",
  ]);
  const QueueUrl = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/points.fifo";
  const bus = "arn:aws:events:ap-northeast-1:123456789012:event-bus/shop";
  expect([
    destinationAccess("SendMessageBatch", { QueueUrl }),
    destinationAccess("PublishBatch", { TopicArn: "arn:aws:sns:ap-northeast-1:1:points.fifo" }),
    destinationAccess("PutEvents", { Entries: [{ EventBusName: bus }, { EventBusName: "shop" }] }),
  ]).toEqual([
    ["sqs:SendMessage points.fifo"],
    ["sns:Publish points.fifo"],
    ["events:PutEvents shop"],
  ]);
});

test("the events process reads the streams of its tables and sends to destinations", async () => {
  const denied = await withOwnDenied();
  const { streams, destinations } = authorizerOf(["events"], "shop-");
  const streamOf = (table: string) => ({
    StreamArn: `arn:aws:dynamodb:ap-northeast-1:123456789012:table/${table}/stream/2026`,
  });
  const QueueUrl = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/points.fifo";
  const Entries = [{ EventBusName: "shop" }];
  streams("GetShardIterator", streamOf("shop-points"));
  destinations("SendMessageBatch", { QueueUrl });
  destinations("PutEvents", { Entries });
  for (const refused of [
    () => streams("GetShardIterator", streamOf("shop-accounts")),
    () => streams("GetShardIterator", streamOf("cafe-points")),
    () => destinations("PurgeQueue", { QueueUrl }),
  ]) {
    expect(refused).toThrow("events is not authorized to perform: ");
  }
  expect(await denied()).toBe(
    "events dynamodb:GetShardIterator accounts/stream/*\n" +
      "events dynamodb:GetShardIterator cafe-points/stream/*\n" +
      "events sqs:PurgeQueue \n",
  );
});

test("the condition on leading keys concerns each item that a command writes", () => {
  const TableName = "points";
  const mark = { pk: { S: "S#default#r" } };
  const hour = { pk: { S: "D#default#2026-11" } };
  const account = { pk: { S: "A#default#ann" } };
  const deletes = [mark, hour, account].map((Key) => ({ Delete: { TableName, Key } }));
  const needs = dynamoDbNeeds("TransactWriteItems", { TransactItems: deletes });
  const allowed = (role: Role) =>
    needs.map(({ access, leadingKeys }) => evaluate([role])(access, leadingKeys));
  expect(allowed("server")).toEqual([true, false, false]);
  expect(allowed("worker")).toEqual([true, true, false]);
  expect(allowed("setup")).toEqual([false, false, false]);
  const requests = [{ DeleteRequest: { Key: mark } }, { PutRequest: { Item: account } }];
  expect(dynamoDbNeeds("BatchWriteItem", { RequestItems: { bulk: requests } })).toEqual([
    { access: "dynamodb:BatchWriteItem bulk", leadingKeys: ["S#default#r", "A#default#ann"] },
  ]);
  expect(dynamoDbNeeds("DeleteItem", { TableName, Key: account })).toEqual([
    { access: "dynamodb:DeleteItem points", leadingKeys: ["A#default#ann"] },
  ]);
});

/** Counts what a test is denied on purpose apart from what the run must not use. */
async function withOwnDenied(): Promise<() => Promise<string>> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-policies-"));
  const { TEST_DENIED_ACCESS: ofRun } = process.env;
  process.env.TEST_DENIED_ACCESS = join(folder, "denied");
  onTestFinished(async () => {
    process.env.TEST_DENIED_ACCESS = ofRun;
    await rm(folder, { recursive: true });
  });
  return () => readFile(join(folder, "denied"), "utf8");
}

test("servers, workers and tools in a test's own process are held to their roles", async () => {
  const denied = await withOwnDenied();
  const prefix = "shop-";
  const memory = createMemoryTables(prefix);
  onTestFinished(() => memory.delete());
  const config = readConfig({ MEGURI_TABLE_PREFIX: prefix, AWS_REGION: "local" }, "worker");
  const log = createLogger("test", "silent");
  // Workers alone scan the accounts.
  const scanAs = async (...roles: Role[]) => {
    const { deps, close } = composeAs(roles, config, noWorkflows, log, memory.connect());
    onTestFinished(close);
    return (await deps.reader.accounts("p", 0, 1, { size: 1, cursor: undefined })).items;
  };
  const refusal = (role: Role, access: string) => ({
    name: "AccessDeniedException",
    message: `${role} is not authorized to perform: ${access}`,
  });
  expect(await scanAs("worker")).toEqual([]);
  expect(await scanAs("server", "worker")).toEqual([]);
  const scan = "dynamodb:Scan accounts";
  await expect(scanAs("server")).rejects.toMatchObject(refusal("server", scan));

  const { retrying } = memory.connect();
  const query = () => retrying.send(new ScanCommand({ TableName: "shop-bulk" }));
  await runAs("restore", prefix, query);
  const bulk = "dynamodb:Scan bulk";
  await expect(runAs("setup", prefix, query)).rejects.toMatchObject(refusal("setup", bulk));
  const other = "dynamodb:Scan shop-bulk";
  await expect(runAs("restore", "cafe-", query)).rejects.toMatchObject(refusal("restore", other));
  await query();
  expect(await denied()).toBe(`server ${scan}\nsetup ${bulk}\nrestore ${other}\n`);
});

test("no test starts a server, a worker or a tool in its own process without a role", () => {
  const calls =
    /(?<!function |[.\w])(compose(?:Worker)?|setup(?:Tables)?|doctor|compareRestored)\(/g;
  // The second one composes what no call is made of.
  const composing = ["test/support/deploy/compose-as.ts", "test/platform/edge/bad-files.test.ts"];
  const files = globSync("test/**/*.ts", { cwd: projectRoot });
  const found = files.flatMap((file) => {
    const text = readFileSync(projectRoot + file, "utf8");
    const imported = (name: string) =>
      new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "[./]+/(src|tools)/`).test(text);
    const names = [...text.matchAll(calls)].map(([, name = ""]) => name).filter(imported);
    const isHeld = (name: string) =>
      name.startsWith("compose") ? composing.includes(file) : text.includes("runAs(");
    return names.filter((name) => !isHeld(name)).map((name) => `${file}: ${name}`);
  });
  expect(found).toEqual([]);
});

test("a process is refused what its policy does not allow, and that is noted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-policies-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "src"));
  const entry = join(folder, "src/server.ts");
  const sdk = createRequire(import.meta.url).resolve("@aws-sdk/client-dynamodb");
  await writeFile(
    entry,
    `import sdk from ${JSON.stringify(sdk)};
     const client = new sdk.DynamoDBClient({ region: "local" });
     client.send(new sdk.ScanCommand({ TableName: "shop-bulk" })).catch(({ name, message }) => {
       console.log(name, message);
     });`,
  );
  const denied = join(folder, "denied");
  const env = { ...process.env, MEGURI_TABLE_PREFIX: "shop-", TEST_DENIED_ACCESS: denied };
  const output = await new Promise((resolve) => {
    execFile(process.execPath, [entry], { env }, (_, out, err) => resolve(out + err));
  });
  expect(output).toBe(
    "AccessDeniedException server is not authorized to perform: dynamodb:Scan bulk\n",
  );
  expect(await readFile(denied, "utf8")).toBe("server dynamodb:Scan bulk\n");
});
