/** Runs `meguri doctor --server` against a set-up that is right, and against wrong ones. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { CreateTableCommand, DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  const { tablePrefix, dynamoEndpoint = "" } = stack.config;
  server = await startServer({ tablePrefix, workflows: stack.workflows, testClock: false });
  await server.programs.createProgram({ programId: "default" });
  env = {
    MEGURI_URL: `http://127.0.0.1:${server.port}`,
    MEGURI_DYNAMODB_ENDPOINT: dynamoEndpoint,
    MEGURI_TABLE_PREFIX: tablePrefix,
    MEGURI_TEMPORAL_ADDRESS: stack.config.temporalAddress,
    MEGURI_TEMPORAL_NAMESPACE: stack.config.temporalNamespace,
    AWS_REGION: "local",
  };
});
afterAll(async () => {
  await server?.stop();
  await stack?.stop();
});

/** The exit code, and what failed by the name of its check. */
async function doctor(variables: Record<string, string> = {}) {
  const stdout = new PassThrough();
  const { signal } = new AbortController();
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), signal };
  const argv = ["doctor", "--server", "--json"];
  const code = await run(argv, { ...io, env: { ...env, ...variables } });
  stdout.end();
  const lines = (await text(stdout)).trim().split("\n");
  const checks = lines.map((line) => JSON.parse(line));
  const failed = checks.filter(({ ok }) => !ok);
  return {
    code,
    names: checks.map(({ check }) => check),
    failed: Object.fromEntries(failed.map(({ check, found, advice }) => [check, found + advice])),
  };
}

test("missing schedules are found, and a set-up that is right passes", async () => {
  const missing = { schedules: expect.stringMatching(/reconcile.* is missing.*npm run setup/) };
  expect(await doctor()).toMatchObject({ code: 1, failed: missing });
  await ensureSchedules(stack.workflows, stack.deps.reader);
  const { names, ...rest } = await doctor();
  expect(rest).toEqual({ code: 0, failed: {} });
  expect(names).toEqual([
    "versions",
    `server ${env.MEGURI_URL}`,
    "contract",
    "clock",
    "identity",
    "configuration",
    "tables",
    "temporal",
    "search attributes",
    "schedules",
  ]);
});

test("a variable with a wrong value is named, and nothing else is checked with it", async () => {
  const { code, names, failed } = await doctor({ MEGURI_MAX_STREAMS: "many" });
  expect({ code, failed }).toEqual({
    code: 1,
    failed: { configuration: expect.stringContaining("MEGURI_MAX_STREAMS") },
  });
  expect(names.at(-1)).toBe("configuration");
});

test("a namespace that does not exist and a server that is away are named", async () => {
  const { code, failed } = await doctor({
    MEGURI_TEMPORAL_NAMESPACE: "none",
    MEGURI_URL: "http://127.0.0.1:1",
  });
  expect({ code, failed }).toMatchObject({
    code: 1,
    failed: {
      "server http://127.0.0.1:1": expect.stringContaining("MEGURI_URL"),
      temporal: expect.stringContaining("MEGURI_TEMPORAL_NAMESPACE"),
    },
  });
});

test("a token that is refused is named", async () => {
  const { failed } = await doctor({ MEGURI_CALLER: "a#b" });
  expect(failed).toEqual({ identity: expect.stringContaining("MEGURI_TOKEN") });
});

test("missing tables, and those of another layout, are named", async () => {
  const prefix = `other-${stack.config.tablePrefix}`;
  const TableName = tableName(prefix)("points");
  const missing = await doctor({ MEGURI_TABLE_PREFIX: prefix });
  expect(missing.failed.tables).toMatch(`${TableName} does not exist`);
  const { retrying } = stack.clients;
  await retrying.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    }),
  );
  const { failed } = await doctor({ MEGURI_TABLE_PREFIX: prefix });
  await retrying.send(new DeleteTableCommand({ TableName }));
  expect(failed).toEqual({ tables: expect.stringContaining(`${TableName} has other keys`) });
});
