/** Runs `npm run doctor` against a set-up that is right, and against wrong ones. */

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateTableCommand,
  DeleteTableCommand,
  type StreamSpecification,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEventLog } from "../../src/events/store/event-log.ts";
import { doctor } from "../../src/ops/doctor.ts";
import { serverChecks } from "../../src/ops/doctor-checks.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { createProgram } from "../../src/points/use-cases/programs/commands.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let env: Record<string, string>;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
  const { tablePrefix, dynamoEndpoint = "" } = stack.config;
  env = {
    MEGURI_DYNAMODB_ENDPOINT: dynamoEndpoint,
    MEGURI_TABLE_PREFIX: tablePrefix,
    MEGURI_TEMPORAL_ADDRESS: stack.config.temporalAddress,
    MEGURI_TEMPORAL_NAMESPACE: stack.config.temporalNamespace,
    AWS_REGION: "local",
  };
});
afterAll(() => stack?.stop());

/** The exit code, and what failed by the name of its check. */
async function diagnose(variables: Record<string, string> = {}) {
  const lines: string[] = [];
  const all = { ...env, ...variables };
  const run = () => doctor(["--json"], all, (line) => lines.push(line));
  const code = await runAs("server", all.MEGURI_TABLE_PREFIX ?? "", run);
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
  expect(await diagnose()).toMatchObject({ code: 1, failed: missing });
  await createProgram(stack.deps, {
    programId: "default",
    timeZone: "Asia/Tokyo",
    lifetimeMonths: 12,
  });
  await ensureSchedules(stack.workflows, stack.deps.reader);
  const { names, ...rest } = await diagnose();
  expect(rest).toEqual({ code: 0, failed: {} });
  expect(names).toEqual([
    "versions",
    "configuration",
    "tables",
    "temporal",
    "installation",
    "search attributes",
    "schedules",
    "streams",
    "events",
    "reports",
  ]);
});

test.each([
  [{}, "none are sent, without MEGURI_SLACK_WEBHOOK_URL"],
  [
    { MEGURI_SLACK_WEBHOOK_URL: "https://hooks.example/secret" },
    "sent to Slack with links to http://127.0.0.1:8233",
  ],
  [
    {
      MEGURI_SLACK_WEBHOOK_URL: "https://hooks.example/secret",
      MEGURI_TEMPORAL_ADDRESS: "temporal.invalid:7233",
    },
    "sent to Slack without links to workflows; set MEGURI_TEMPORAL_UI_URL",
  ],
])("with %o the reports are said to be %s", async (variables, found) => {
  const reports = serverChecks({ ...env, ...variables }).find(({ name }) => name === "reports");
  expect(await reports?.run()).toBe(found);
});

test("without --json each line says ok or FAILED, and what to do", async () => {
  const lines: string[] = [];
  const wrong = { ...env, MEGURI_MAX_STREAMS: "many" };
  expect(await doctor([], wrong, (line) => lines.push(line))).toBe(1);
  expect(lines).toEqual([
    expect.stringMatching(/^ok {6}versions: meguri \d+\.\d+\.\d+, Node \d+/),
    expect.stringMatching(/^FAILED {2}configuration: .*MEGURI_MAX_STREAMS.*\. Correct the var/),
  ]);
});

test("a variable with a wrong value is named, and nothing else is checked with it", async () => {
  const { code, names, failed } = await diagnose({ MEGURI_MAX_STREAMS: "many" });
  expect({ code, failed }).toEqual({
    code: 1,
    failed: { configuration: expect.stringContaining("MEGURI_MAX_STREAMS") },
  });
  expect(names.at(-1)).toBe("configuration");
});

test("a file of sources with a wrong one is named, and the rest is checked", async () => {
  const file = join(tmpdir(), `${stack.config.tablePrefix}sources.json`);
  writeFileSync(file, JSON.stringify({ sources: [{ name: "spring", type: "sheet" }] }));
  const { failed } = await diagnose({ MEGURI_BULK_SOURCES: file });
  rmSync(file);
  expect(failed).toEqual({
    configuration: expect.stringMatching(/^MEGURI_BULK_SOURCES .*type drive/),
  });
});

test("a stream that is off is named", async () => {
  const { retrying } = stack.clients;
  const TableName = tableName(stack.config.tablePrefix)("bulk");
  const switchTo = (StreamSpecification: StreamSpecification) =>
    retrying.send(new UpdateTableCommand({ TableName, StreamSpecification }));
  await switchTo({ StreamEnabled: false });
  const { failed } = await diagnose();
  await switchTo({ StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" });
  expect(failed).toEqual({
    streams: expect.stringMatching(
      `${TableName} is off.*should be NEW_AND_OLD_IMAGES.*update-table`,
    ),
  });
});

test("a log that nobody writes is named", async () => {
  const events = async () => {
    const check = serverChecks(env).find(({ name }) => name === "events");
    return runAs("server", stack.config.tablePrefix, async () => check?.run());
  };
  expect(await events()).toMatch("no log has begun");
  const log = createEventLog(stack.clients.retrying, tableName(stack.config.tablePrefix)("events"));
  await log.begin();
  const append = (number: number, time: number) =>
    log.append({ number, time, events: [] }, { positions: {}, gaps: [] });
  await append(1, Date.now() - 600_000);
  await expect(events()).rejects.toThrow(/no process holds the lease.*appended 6\d\d s ago/);
  await append(2, Date.now());
  expect(await events()).toMatch(/whose last batch was appended \d+ s ago/);
});

test("a namespace that does not exist is named", async () => {
  const { code, failed } = await diagnose({ MEGURI_TEMPORAL_NAMESPACE: "none" });
  expect({ code, failed }).toMatchObject({
    code: 1,
    failed: { temporal: expect.stringContaining("MEGURI_TEMPORAL_NAMESPACE") },
  });
});

test("missing tables, and those of another layout, are named", async () => {
  const prefix = `other-${stack.config.tablePrefix}`;
  const TableName = tableName(prefix)("points");
  const missing = await diagnose({ MEGURI_TABLE_PREFIX: prefix });
  expect(missing.failed.tables).toMatch(`${TableName}: the table is missing`);
  expect(missing.failed.tables).toMatch("Run npm run setup");
  const { retrying } = stack.clients;
  await retrying.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    }),
  );
  const { failed } = await diagnose({ MEGURI_TABLE_PREFIX: prefix });
  await retrying.send(new DeleteTableCommand({ TableName }));
  const line = `${TableName}: the key is HASH pk (S), and should be HASH pk (S), RANGE sk (S)`;
  expect(failed).toEqual({ tables: expect.stringContaining(line) });
  expect(failed.tables).toMatch("Use the version of Meguri that made the tables");
});
