/**
 * Runs `src/ops/setup.ts` twice, as deployments do, on an empty DynamoDB and Temporal. Registers
 * search attributes in namespaces that have some, or that do not let this process create any.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { DescribeTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import {
  callerKey,
  ensureSearchAttributes,
  pointsKey,
  reasonKey,
} from "../../src/platform/temporal/search-attributes.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { reconcileId } from "../../src/reservations/contract/reconciler.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import type { TemporalWorkflows } from "../../src/temporal/temporal-workflows.ts";
import { createWorkflows } from "../../src/temporal/workflows.ts";
import { runToEnd } from "../../tools/dev/stack/service.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startServer } from "../support/servers/server.ts";
import { createMemoryStore } from "../support/stores/memory-store.ts";

const prefix = `setup-${randomUUID()}-`;
let temporal: Temporal;
let connection: Connection;

beforeAll(async () => {
  temporal = await startTemporal({ ignoreRunning: true });
  connection = await Connection.connect({ address: temporal.address });
});
afterAll(async () => {
  await connection.close();
  await temporal.stop();
});

const setup = () =>
  runToEnd({
    name: "setup",
    entry: "src/ops/setup.ts",
    env: {
      MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
      MEGURI_TABLE_PREFIX: prefix,
      MEGURI_TEMPORAL_ADDRESS: temporal.address,
      MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
    },
  });

async function schedules(): Promise<string[]> {
  const found: string[] = [];
  for await (const { scheduleId } of new Client({ connection }).schedule.list()) {
    found.push(scheduleId);
  }
  return found.sort();
}

/** The attributes by which DynamoDB deletes items of the tables of reactions and notifications. */
async function ttlAttributes(): Promise<(string | undefined)[]> {
  const { retrying, close } = createClients({
    endpoint: inject("dynamodbEndpoint"),
    region: "ap-northeast-1",
  });
  const described = await Promise.all(
    [`${prefix}reactions`, `${prefix}notifications`].map((TableName) =>
      retrying.send(new DescribeTimeToLiveCommand({ TableName })),
    ),
  );
  close();
  return described.map(({ TimeToLiveDescription: found }) => found?.AttributeName);
}

test("creates everything, and nothing the second time", async () => {
  await setup();
  expect(await ttlAttributes()).toEqual(["ttl", "ttl"]);
  const server = await startServer({ tablePrefix: prefix, testClock: false });
  const { programs } = await server.programs.listPrograms({});
  expect(programs).toMatchObject([
    { programId: "default", timeZone: "Asia/Tokyo", lifetimeMonths: 12 },
  ]);
  await expect.poll(schedules).toEqual([monthEndId("default"), reconcileId]);
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: temporal.namespace,
  });
  expect(Object.keys(customAttributes)).toEqual(
    expect.arrayContaining(Object.values(searchAttributes)),
  );

  await setup();
  expect(await ttlAttributes()).toEqual(["ttl", "ttl"]);
  expect((await server.programs.listPrograms({})).programs).toEqual(programs);
  expect(await schedules()).toEqual([monthEndId("default"), reconcileId]);
  await server.stop();
});

/** Connects to a new namespace without search attributes. */
async function newNamespace(): Promise<TemporalWorkflows> {
  const { address } = temporal;
  // A number: the generated types want a `Long`, but the encoder accepts both.
  const day = 86_400 as unknown as null;
  const namespace = `setup-${randomUUID().slice(0, 8)}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: day },
  });
  const log = createLogger("test", "silent");
  const workflows = createWorkflows({ address, namespace, taskQueue: "setup", log });
  onTestFinished(() => workflows.close());
  // The frontend knows a new namespace after a moment.
  await eventually(() => workflows.link.client.workflow.count());
  return workflows;
}

/** Makes Temporal refuse these calls, as it does without the right or without an operator API. */
function refuse(
  { link }: TemporalWorkflows,
  code: number,
  ...methods: readonly ("listSearchAttributes" | "addSearchAttributes")[]
): void {
  const error = Object.assign(new Error("refused"), { code, details: "refused", metadata: {} });
  for (const method of methods) {
    vi.spyOn(link.connection.operatorService, method).mockRejectedValue(error);
  }
}

/** Sets up all that Temporal needs, for a store without programs. */
const setupTemporal = (workflows: TemporalWorkflows) =>
  patiently(() => ensureSchedules(workflows, createMemoryStore().reader));

/** The message of the error with which the set-up of Temporal ends. */
const refusalOf = (workflows: TemporalWorkflows): Promise<string> =>
  setupTemporal(workflows).then(
    () => expect.unreachable("it should fail"),
    (error: Error) => error.message,
  );

/** Runs the command that an error names, as an administrator would. */
async function runCommand(message: string): Promise<void> {
  const [, args = ""] = /: temporal (.*)$/.exec(message) ?? [];
  const address = ["--address", temporal.address];
  await promisify(execFile)(await findTemporalCli(), [...args.split(" "), ...address]);
}

/** The attributes of the versions before the points, the caller and the reason. */
const oldAttributes = { MeguriProgram: 2, MeguriUser: 2, MeguriExecuteTime: 6, MeguriState: 2 };

const addOld = ({ link }: TemporalWorkflows) =>
  link.connection.operatorService.addSearchAttributes({
    namespace: link.namespace,
    searchAttributes: oldAttributes,
  });

describe("search attributes", () => {
  test("of later versions are added to a namespace that was set up before", async () => {
    const workflows = await newNamespace();
    const { link } = workflows;
    await addOld(workflows);
    await ensureSearchAttributes(link.connection, link.namespace);
    const run = await eventually(() =>
      link.client.workflow.start("any", {
        workflowId: "with-attributes",
        taskQueue: "setup",
        typedSearchAttributes: [
          { key: pointsKey, value: 120 },
          { key: callerKey, value: "shop" },
          { key: reasonKey, value: "ACCOUNT_FROZEN" },
        ],
      }),
    );
    const query = 'MeguriPoints > 100 AND MeguriCaller = "shop" AND MeguriReason != ""';
    await eventually(async () => {
      expect(await link.client.workflow.count(query)).toMatchObject({ count: 1 });
    });
    expect((await run.describe()).typedSearchAttributes.get(pointsKey)).toBe(120);
  });

  test.each([
    ["PERMISSION_DENIED", 7],
    ["UNIMPLEMENTED", 12],
  ])("are only checked when the operator API answers %s", async (_, code) => {
    const workflows = await newNamespace();
    const { namespace } = workflows.link;
    refuse(workflows, code, "listSearchAttributes", "addSearchAttributes");
    const message = await refusalOf(workflows);
    expect(message).toBe(
      `the namespace ${namespace} has no search attributes MeguriProgram (Keyword), ` +
        "MeguriUser (Keyword), MeguriExecuteTime (Datetime), MeguriState (Keyword), " +
        "MeguriPoints (Int), MeguriCaller (Keyword), MeguriReason (Keyword), " +
        "MeguriMonth (Keyword), MeguriActor (KeywordList), and Temporal does " +
        "not let this process create them. An administrator creates them, on Temporal Cloud " +
        "in the console or by tcld namespace search-attributes add, elsewhere with: " +
        `temporal operator search-attribute create --namespace ${namespace} ` +
        "--name MeguriProgram --type Keyword --name MeguriUser --type Keyword " +
        "--name MeguriExecuteTime --type Datetime --name MeguriState --type Keyword " +
        "--name MeguriPoints --type Int --name MeguriCaller --type Keyword " +
        "--name MeguriReason --type Keyword --name MeguriMonth --type Keyword " +
        "--name MeguriActor --type KeywordList",
    );
    await runCommand(message);
    await eventually(() => setupTemporal(workflows));
    const schedule = workflows.link.client.schedule.getHandle(reconcileId);
    expect((await schedule.describe()).action.workflowType).toBe("reconciler");
  });

  test("that are listed but must not be added are named, too", async () => {
    const workflows = await newNamespace();
    await addOld(workflows);
    refuse(workflows, 7, "addSearchAttributes");
    const message = await eventually(async () => {
      const found = await refusalOf(workflows);
      expect(found).not.toContain("MeguriState");
      return found;
    });
    expect(message).toContain(
      "has no search attributes MeguriPoints (Int), MeguriCaller (Keyword), " +
        "MeguriReason (Keyword), MeguriMonth (Keyword), MeguriActor (KeywordList)",
    );
    await runCommand(message);
    await eventually(() => setupTemporal(workflows));
  });

  test("are not checked when Temporal does not answer", async () => {
    const workflows = await newNamespace();
    refuse(workflows, 14, "listSearchAttributes");
    const { link } = workflows;
    const ensured = ensureSearchAttributes(link.connection, link.namespace);
    await expect(ensured).rejects.toMatchObject({ code: 14 });
  });
});
