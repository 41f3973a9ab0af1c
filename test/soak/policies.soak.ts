/**
 * Runs setup, doctor, server, worker and events process as real processes under the policies of
 * deploy/policies, through every RPC, every workflow and gaps of streams, and compares what they
 * use with what they may.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { reconcileId } from "../../src/reservations/contract/reconciler.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { runToEnd, startService } from "../../tools/dev/stack/service.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { unusedSites } from "../support/deploy/command-sites.ts";
import { allowedTo } from "../support/deploy/policies.ts";
import {
  approve,
  tourBulkGrant,
  tourHeldUp,
  tourRequests,
} from "../support/deploy/tour/bulk-grants.ts";
import { type Called, noting, type TourClients } from "../support/deploy/tour/called.ts";
import { tourDamages, tourLostMark } from "../support/deploy/tour/damages.ts";
import { tourEvents, tourGaps } from "../support/deploy/tour/events.ts";
import { tourHolds } from "../support/deploy/tour/holds.ts";
import { tourPoints, tourPrograms } from "../support/deploy/tour/points.ts";
import { tourNotifications, tourReactions } from "../support/deploy/tour/reactions.ts";
import { tourReservations } from "../support/deploy/tour/reservations.ts";
import { methodsWithoutClock } from "../support/fixtures/descriptors.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWebHook, type WebHook } from "../support/fixtures/web-hook.ts";
import { type S3Server, startS3Server } from "../support/servers/s3-server.ts";
import { connect } from "../support/servers/server.ts";

let folder: string;
let dynamo: Awaited<ReturnType<typeof startDynamoDbLocal>>;
let temporal: Temporal;
let s3: S3Server;
let hook: WebHook;
let env: Record<string, string>;
const children: Child[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-policies-"));
  [dynamo, temporal, s3] = await Promise.all([
    startDynamoDbLocal(),
    startTemporal({ ignoreRunning: true }),
    startS3Server("campaigns"),
  ]);
  hook = await startWebHook(folder);
  const sources = join(folder, "sources.json");
  await writeFile(sources, JSON.stringify({ sources: [jobs(s3.endpoint)] }));
  const destinations = join(folder, "destinations.json");
  await writeFile(destinations, JSON.stringify({ destinations: [audit(s3.endpoint)] }));
  env = {
    // Not a loopback address, so that the setup does all that it does on AWS.
    MEGURI_DYNAMODB_ENDPOINT: `http://0.0.0.0:${dynamo.port}`,
    AWS_ACCESS_KEY_ID: "policies",
    AWS_SECRET_ACCESS_KEY: "policies",
    MEGURI_TABLE_PREFIX: `policies-${randomUUID().slice(0, 8)}-`,
    MEGURI_TEMPORAL_ADDRESS: temporal.address,
    MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
    MEGURI_WORKFLOW_BUNDLE: inject("workflowBundle"),
    MEGURI_BULK_SOURCES: sources,
    MEGURI_EXPORT_DESTINATIONS: destinations,
    MEGURI_METRICS_PORT: "0",
    MEGURI_OPERATORS_PORT: "0",
    MEGURI_EVENTS_PORT: "0",
    MEGURI_EVENT_SUBSCRIPTIONS: hook.subscriptions,
    MEGURI_DRAIN_SECONDS: "1",
    TEST_USED_ACCESS: join(folder, "used"),
    TEST_USED_COMMANDS: join(folder, "commands"),
  };
});
afterAll(async () => {
  for (const child of children.reverse()) await child.stop();
  await Promise.all([s3?.stop(), temporal?.stop(), dynamo?.stop()]);
  hook?.close();
  await rm(folder, { recursive: true });
});

const jobs = (endpoint: string) => ({
  name: "jobs",
  identity: "jobs",
  programs: ["default"],
  type: "s3",
  bucket: "campaigns",
  prefix: "in/",
  region: "ap-northeast-1",
  endpoint,
  force_path_style: true,
  pick_up: { program_id: "default", cron: "0 6 * * *", time_zone: "Asia/Tokyo" },
});

const audit = (endpoint: string) => ({
  name: "audit",
  programs: ["default"],
  type: "s3",
  bucket: "campaigns",
  prefix: "exports/",
  region: "ap-northeast-1",
  endpoint,
  force_path_style: true,
});

/** Tables of an older version, without global indexes and a time to live. */
async function createOlderTables(prefix: string): Promise<void> {
  const { retrying, close } = createClients({ endpoint: dynamo.endpoint, region: "local" });
  const older = localTableDefinitions(tableName(prefix)).map(({ create, ...definition }) => {
    const { GlobalSecondaryIndexes: _, LocalSecondaryIndexes: local = [], ...table } = create;
    const keys = [table, ...local].flatMap(({ KeySchema }) => KeySchema ?? []);
    const isKey = (name = "") => keys.some(({ AttributeName }) => AttributeName === name);
    const types = table.AttributeDefinitions?.filter((each) => isKey(each.AttributeName));
    const rest = local.length > 0 ? { LocalSecondaryIndexes: local } : {};
    return {
      ...definition,
      create: { ...table, ...rest, AttributeDefinitions: types },
      ttlAttribute: undefined,
    };
  });
  await createTables(retrying, older);
  close();
}

/** Takes the id of an installation from the namespace, so that it may belong to other tables. */
async function disown(): Promise<void> {
  const connection = await Connection.connect({ address: temporal.address });
  const client = new Client({ connection, namespace: temporal.namespace });
  await client.schedule.getHandle(reconcileId).delete();
  await connection.close();
}

async function start(name: string, more: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child = await startService({ name, entry: `src/${name}.ts`, env: { ...env, ...more } });
  children.push(child);
  return child;
}

/**
 * Runs what schedules and batch jobs start, and waits until each workflow type has a run that is
 * completed. The reconciler's goes on for long, and a report waits for 16 minutes; then it uses
 * what the verification and the export of a program use.
 */
async function tourWorkflows(approver: TourClients): Promise<void> {
  const connection = await Connection.connect({ address: temporal.address });
  const client = new Client({ connection, namespace: temporal.namespace });
  for await (const { scheduleId } of client.schedule.list()) {
    await client.schedule.getHandle(scheduleId).trigger();
  }
  // The second one has the same rows, so those that it has stored are deleted again.
  for (const workflowId of ["job-1", "job-2"]) {
    const input = { program_id: "default", bulk_grant_id: "job", source: "jobs/job.csv" };
    const options = { workflowId, taskQueue: "meguri", args: [input] };
    await client.workflow.start("bulkGrantFromSource", options);
  }
  await client.workflow.start("bulkGrantRows", {
    ...{ workflowId: "rows-1", taskQueue: "meguri" },
    args: [{ program_id: "cafe", bulk_grant_id: "rows", rows: [{ user_id: "leo", points: 5 }] }],
  });
  await approve(approver, "job");
  await eventually(async () => {
    const types = new Set<string>(["reconciler", "liabilityReport"]);
    for await (const run of client.workflow.list({ query: "ExecutionStatus = 'Completed'" })) {
      types.add(run.type);
    }
    expect([...types].toSorted()).toEqual(Object.values(workflowTypes).toSorted());
  });
  await connection.close();
}

/** The roles of this tour. test/deploy/restore.check.ts has the comparison of restored tables. */
const roles = ["server", "worker", "events", "setup"] as const;
type Role = (typeof roles)[number];

/** What the processes have used, by their roles. */
async function used(): Promise<Record<Role, string[]>> {
  const lines = new Set((await readFile(env.TEST_USED_ACCESS ?? "", "utf8")).trimEnd().split("\n"));
  return ofRoles((role) =>
    [...lines].flatMap((line) =>
      line.startsWith(`${role} `) ? [line.slice(role.length + 1)] : [],
    ),
  );
}

function ofRoles(accessOf: (role: Role) => Iterable<string>): Record<Role, string[]> {
  const sorted = (role: Role) => [...accessOf(role)].toSorted();
  return Object.fromEntries(roles.map((role) => [role, sorted(role)])) as Record<Role, string[]>;
}

/**
 * What no process of this tour sends: only the comparison of restored tables scans so, and
 * destinations of AWS are played in test/events/destinations.
 */
const unreached = [
  "src/events/destinations/eventbridge.ts PutEvents",
  "src/events/destinations/sns.ts PublishBatch",
  "src/events/destinations/sqs.ts SendMessageBatch",
  "src/store/scan.ts Scan",
];

/**
 * What the tour reaches by chance: workers write Meguri's own notices, and read, close and begin
 * their notifications anew as servers do, but only after 30 days or beside a call.
 */
const rare: Readonly<Record<Role, readonly string[]>> = {
  // A cancellation of many reads its act, and finds it after an answer that was lost.
  server: ["dynamodb:BatchGetItem acts", "dynamodb:ConditionCheckItem acts"],
  worker: [
    "dynamodb:ConditionCheckItem notifications",
    "dynamodb:DeleteItem notifications",
    "dynamodb:GetItem notifications",
    "dynamodb:Query reactions/index/by-n",
  ],
  events: [
    // It reads these one by one.
    "dynamodb:BatchGetItem events",
    "dynamodb:BatchGetItem points",
    "sqs:SendMessage ",
    "sns:Publish ",
    "events:PutEvents ",
  ],
  setup: [],
};

test("each process uses all that its policy allows, and nothing else", async () => {
  const older = { ...env, MEGURI_TABLE_PREFIX: `older-${env.MEGURI_TABLE_PREFIX}` };
  await createOlderTables(older.MEGURI_TABLE_PREFIX);
  await runToEnd({ name: "setup", entry: "src/ops/setup.ts", env: older });
  await disown();
  await runToEnd({ name: "setup", entry: "src/ops/setup.ts", env });
  await runToEnd({ name: "doctor", entry: "src/ops/doctor.ts", env });
  const [port, http1Port] = await findPorts(0, 0);
  const [events] = await Promise.all([
    start("events"),
    start("server", { MEGURI_PORT: String(port), MEGURI_HTTP1_PORT: String(http1Port) }),
    start("worker"),
  ]);
  // What an earlier attempt to export has left.
  s3.put(`exports/default/tour/.${randomUUID()}.unfinished`, "");
  const { retrying: client, close } = createClients({ endpoint: dynamo.endpoint, region: "local" });
  const behind = { client, tableName: tableName(env.MEGURI_TABLE_PREFIX ?? "") };
  s3.put("in/job.csv", "user_id,points,reason\ncem,5,r\n");
  s3.put("in/new.csv", "user_id,points,reason\nbob,5,r\n");
  s3.put("in/wrong.csv", "user_id,points,reason\nbob,many,r\n");
  const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
  const called: Called = new Set();
  const [ada, max] = ["ada", "max"].map((name) => noting(connect(sessions, port, name), called));
  if (!ada || !max) throw new Error("a caller is missing");
  await tourPrograms(ada, max);
  await Promise.all([
    tourPoints(ada),
    tourReservations(ada),
    tourHolds(ada),
    tourReactions(ada).then(() => tourNotifications(ada)),
    tourBulkGrant(ada, max).then(() => tourHeldUp(ada, max)),
    tourRequests(ada, max),
    tourDamages(ada, behind),
    tourLostMark(behind),
  ]);
  await tourWorkflows(max);
  await tourEvents(ada);
  await events.stop();
  await tourGaps(ada, behind, () => start("events"));
  sessions.abort();
  close();

  const methods = methodsWithoutClock.map(({ name }) => name);
  expect([...called].toSorted()).toEqual(methods.toSorted());
  const commands = await readFile(env.TEST_USED_COMMANDS ?? "", "utf8");
  expect(unusedSites(commands.trimEnd().split("\n")).toSorted()).toEqual(unreached);
  const found = await used();
  expect(ofRoles((role) => new Set([...found[role], ...rare[role]]))).toEqual(ofRoles(allowedTo));
});
