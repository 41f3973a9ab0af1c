/**
 * Runs `tools/restore/main.ts` on tables that are copied to another prefix at different
 * moments of a workload, as AWS restores each table by itself.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Deps } from "../../src/hub/deps.ts";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { type Table, tableName, tables } from "../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { leaseRef } from "../../src/platform/ports/records.ts";
import { createLease } from "../../src/platform/work/lease.ts";
import { compareRestored } from "../../tools/restore/main.ts";
import { composeAs } from "../support/deploy/compose-as.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { randomFrom } from "../support/models/random.ts";
import { send } from "../support/models/restore-play.ts";
import { begin, createWorkload, finishAll } from "../support/models/restore-workload.ts";
import { noWorkflows } from "../support/servers/no-workflows.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { putItems } from "../support/stores/copy-table.ts";
import { deleteTables } from "../support/stores/delete-tables.ts";
import { itemsOf } from "../support/stores/dump.ts";

const prefix = `restored-${randomUUID().slice(0, 8)}-`;
const names = tableName(prefix);
const quiet = createLogger("test", "silent");

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false, dynamoEndpoint: inject("dynamodbEndpoint") });
});
afterAll(async () => {
  await deleteTables(server.dynamo, names);
  await server.stop();
});

const env = () => ({
  MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
  MEGURI_TABLE_PREFIX: prefix,
  AWS_REGION: "local",
  MEGURI_LOG_LEVEL: "silent",
});

/** Runs the command with the rights of its policy. */
const runTool: typeof compareRestored = (args, variables, ...rest) =>
  runAs("restore", variables.MEGURI_TABLE_PREFIX ?? "", () =>
    compareRestored(args, variables, ...rest),
  );

/** What the command says when it does not begin. */
const refusal = (args: string[], variables: NodeJS.ProcessEnv = {}, heartbeatWaitMs?: number) =>
  runTool(args, { ...env(), ...variables }, () => {}, heartbeatWaitMs).then(
    () => "none",
    ({ name, message }: Error) => `${name}: ${message}`,
  );

async function compare(...args: string[]) {
  const lines: string[] = [];
  const code = await runTool(args, env(), (line) => lines.push(line));
  return { code, lines, kinds: new Set(lines.map((line) => line.split(/ {2,}/)[1])) };
}

/** Every item of the restored tables, as text. */
async function stored(): Promise<string[]> {
  const all = await Promise.all(tables.map((table) => itemsOf(server.dynamo, names(table))));
  return all
    .flat()
    .map((item) => JSON.stringify(item))
    .sort();
}

/** Runs some work with the use cases of another process on the restored tables. */
async function onRestored(work: (deps: Deps) => Promise<void>): Promise<void> {
  const { deps, close } = composeAs(["server"], readConfig(env(), "setup"), noWorkflows, quiet);
  try {
    await work(deps);
  } finally {
    await close();
  }
}

test("says what differs, mends it, and each call is made once", async () => {
  const { deps, dynamo, table } = server;
  const workload = createWorkload(randomFrom(9), 50);
  await begin(deps);
  // The later tables have what the earlier ones do not know yet.
  const order: Table[] = [
    "accounts",
    "notifications",
    "points",
    "reactions",
    "reservations",
    "bulk",
  ];
  const copies = new Map<Table, Item[]>();
  await send(deps, workload.slice(0, 17));
  for (const [i, each] of order.entries()) {
    copies.set(each, await itemsOf(dynamo, table(each)));
    await send(deps, workload.slice(17 + 6 * i, 23 + 6 * i));
  }
  await send(deps, workload.slice(17 + 6 * order.length));
  await createTables(dynamo, localTableDefinitions(names));
  for (const [each, items] of copies) await putItems(dynamo, names(each), items);

  const before = await stored();
  const dry = await compare();
  expect(dry.code).toBe(1);
  expect(await stored()).toEqual(before);
  const wanted = ["BULK_ROW_GRANT_LOST", "EVENT_ID_LOST", "HOLD_DIFFERS", "INBOX_BEHIND"];
  expect([...dry.kinds]).toEqual(expect.arrayContaining(wanted));
  const repaired = await compare("--repair");
  expect(repaired.lines.at(-1)).toMatch(/: [1-9]\d* mended, 0 left$/);
  expect(repaired.code).toBe(0);
  const nothing = { code: 0, lines: [`tables ${prefix}*: 0 mended, 0 left`] };
  expect(await compare("--repair")).toMatchObject(nothing);

  await onRestored(async (restored) => {
    await send(restored, workload);
    await finishAll(restored, []);
  });
  expect(await compare()).toMatchObject(nothing);
}, 120_000);

test("repairs no tables that a server uses, and none that are missing", async () => {
  await onRestored(async (restored) => {
    const lease = createLease(restored, "schedules", quiet, { heartbeatMs: 20, deadMs: 60_000 });
    await lease.take();
    expect(await refusal(["--repair"], {}, 2_000)).toMatch(/^OperatorError: a server uses /);
    await lease.close();
  });
  expect(await refusal(["--repair"], {}, 2_000)).toBe("none");
  expect(await refusal([], { MEGURI_TABLE_PREFIX: `${prefix}none-` })).toBe(
    `OperatorError: a table ${prefix}none-* does not exist; MEGURI_TABLE_PREFIX names them`,
  );
}, 120_000);

test("repairs tables whose lease has a holder of the past", async () => {
  await onRestored(async ({ engine }) => {
    const ref = leaseRef("schedules");
    await engine.transact({
      ...{ key: ref, readSet: [ref], expectAbsent: [], call: undefined },
      decide: (tx) => tx.put(ref, { holder: "gone", heartbeat: 7 }),
    });
  });
  expect(await refusal(["--repair"], {}, 50)).toBe("none");
}, 120_000);
