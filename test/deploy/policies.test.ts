/** Tests what the policies are made of, and that real processes of test runs are held to them. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { dynamoDbAccess, s3Access } from "../support/deploy/iam-actions.ts";
import { allowedBy, policies, statementsOf } from "../support/deploy/policies.ts";

const names = Object.values(policies).flat();

test.each(names)("%s.json allows actions one by one, on tables, indexes and objects", (name) => {
  const statements = statementsOf(name);
  expect(statements.map(({ Effect }) => Effect)).toEqual(statements.map(() => "Allow"));
  const access = allowedBy(name);
  expect(access).toEqual([...new Set(access)]);
  expect(access.filter((each) => /[*?]/.test(each.replace(/^(s3:\w+ )\/\*$/, "$1")))).toEqual([]);
  const resources = tableDefinitions((table) => table).flatMap(({ create }) => {
    const indexes = [
      create.GlobalSecondaryIndexes ?? [],
      create.LocalSecondaryIndexes ?? [],
    ].flat();
    const { TableName: table } = create;
    return [table, ...indexes.map(({ IndexName }) => `${table}/index/${IndexName}`)];
  });
  const used = access.filter((each) => each.startsWith("dynamodb:"));
  expect(resources).toEqual(expect.arrayContaining(used.map((each) => each.split(" ")[1])));
});

// The store reads one record by GetItem and several by BatchGetItem: how many depends on what it
// still has in memory, so a tour of all calls need not see both.
test.each(["server", "worker"])("%s.json lets all that is read be read in batches", (name) => {
  const access = allowedBy(name);
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

test("acts are only put, under the condition that they are new, and only servers read them", () => {
  const ofActs = (name: string) =>
    allowedBy(name).filter((each) => / acts(\/|$)/.test(each) && !each.includes(":Describe"));
  const put = "dynamodb:PutItem acts";
  const read = ["dynamodb:Query acts", "dynamodb:Query acts/index/by-subject"];
  expect(["server", "worker"].map(ofActs)).toEqual([[put, ...read], [put]]);
});

test("a command needs the actions that AWS documents for it", () => {
  const one = { TableName: "points" };
  expect(dynamoDbAccess("GetItem", one)).toEqual(["dynamodb:GetItem points"]);
  expect(dynamoDbAccess("Query", { ...one, IndexName: "expiry" })).toEqual([
    "dynamodb:Query points/index/expiry",
  ]);
  const TransactItems = ["Put", "Update", "Delete", "ConditionCheck"].map((part) => ({
    [part]: one,
  }));
  expect(dynamoDbAccess("TransactWriteItems", { TransactItems })).toEqual(
    ["Put", "Update", "Delete", "ConditionCheck"].map((part) => `dynamodb:${part}Item points`),
  );
  expect(dynamoDbAccess("TransactGetItems", { TransactItems: [{ Get: one }] })).toEqual([
    "dynamodb:GetItem points",
  ]);
  const RequestItems = { points: [], bulk: [] };
  expect(dynamoDbAccess("BatchGetItem", { RequestItems })).toEqual([
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
