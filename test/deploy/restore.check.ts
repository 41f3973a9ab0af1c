/**
 * Plays the drill of docs/run/restore.md with the processes that are shipped, each held to its
 * policy of deploy/policies, for its own prefix.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import { type Clients, createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { tableName, tables } from "../../src/platform/dynamodb/tables.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { runToEnd, startService } from "../../tools/dev/stack/service.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { deniedIn, guardedBy } from "../support/deploy/guarded.ts";
import { connect } from "../support/servers/server.ts";
import { putItems } from "../support/stores/copy-table.ts";
import { itemsOf } from "../support/stores/dump.ts";

let folder: string;
let dynamo: Awaited<ReturnType<typeof startDynamoDbLocal>>;
let clients: Clients;
let before: Temporal;
let afterwards: Temporal;
const children: Child[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-restore-"));
  [dynamo, before, afterwards] = await Promise.all([
    startDynamoDbLocal(),
    startTemporal({ ignoreRunning: true }),
    startTemporal({ ignoreRunning: true }),
  ]);
  clients = createClients({ endpoint: dynamo.endpoint, region: "local" });
});
afterAll(async () => {
  for (const child of children.reverse()) await child.stop();
  clients?.close();
  await Promise.all([afterwards?.stop(), before?.stop(), dynamo?.stop()]);
  await rm(folder, { recursive: true });
});

const denied = () => join(folder, "denied");

const envOf = (prefix: string, { address, namespace }: Temporal) => ({
  ...guardedBy(denied()),
  MEGURI_DYNAMODB_ENDPOINT: dynamo.endpoint,
  MEGURI_TABLE_PREFIX: prefix,
  MEGURI_TEMPORAL_ADDRESS: address,
  MEGURI_TEMPORAL_NAMESPACE: namespace,
  MEGURI_METRICS_PORT: "0",
  MEGURI_OPERATORS_PORT: "0",
  MEGURI_DRAIN_SECONDS: "1",
});

type Environment = ReturnType<typeof envOf>;

const setUp = (env: Environment) => runToEnd({ name: "setup", entry: "src/ops/setup.ts", env });

const compare = (env: Environment, ...args: string[]) =>
  runToEnd({ name: "compare-restored", entry: "tools/restore/main.ts", args, env });

/** Starts a server. Returns its clients, and how to stop it. */
async function startServer(env: Environment) {
  const [port, http1Port] = await findPorts(0, 0);
  const ports = { MEGURI_PORT: String(port), MEGURI_HTTP1_PORT: String(http1Port) };
  const entry = "src/server.ts";
  const server = await startService({ name: "server", entry, env: { ...env, ...ports } });
  children.push(server);
  const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
  const stop = async () => {
    sessions.abort();
    await server.stop();
  };
  return { ...connect(sessions, port, "shop"), stop };
}

const account = { programId: "default", userId: "ann" };

/** Restores all tables, the points without an entry and the reservations without the hold. */
async function restoreTables(from: string, to: string): Promise<void> {
  const { retrying } = clients;
  await createTables(retrying, localTableDefinitions(tableName(to)));
  for (const table of tables) {
    await putItems(retrying, tableName(to)(table), await itemsOf(retrying, tableName(from)(table)));
  }
  const entry = { pk: { S: "A#default#ann" }, sk: { S: "L#000000000002" } };
  const lost = new DeleteItemCommand({ TableName: tableName(to)("points"), Key: entry });
  await retrying.send(lost);
  const records = await itemsOf(retrying, tableName(to)("reservations"));
  const hold = records.find(({ pk }) => pk?.S?.startsWith("H#"));
  const TableName = tableName(to)("reservations");
  await retrying.send(new DeleteItemCommand({ TableName, Key: { pk: hold?.pk ?? { S: "" } } }));
}

test("the drill needs no right but those of the policies, and nothing is lost", async () => {
  const inUse = envOf("meguri-", before);
  await setUp(inUse);
  const old = await startServer(inUse);
  for (const eventId of ["1", "2", "3"])
    await old.points.grantPoints({ ...account, eventId, points: 9n });
  const until = timestampFromMs(Date.now() + 3_600_000);
  await old.holds.holdPoints({ ...account, holdId: "h", points: 4n, until });
  await old.reservations.createReservation({
    ...{ ...account, reservationId: "r", points: 5n, executeTime: until },
  });
  const targetName = { type: "post", id: "one" };
  await old.reactions.registerTarget({ targetName, ownerId: "olga" });
  await old.reactions.react({ targetName, kind: "like", userId: "bob", displayName: "Bob" });
  await old.stop();

  await restoreTables("meguri-", "restored-");
  const compared = envOf("restored-", before);
  await runToEnd({ name: "doctor", entry: "src/ops/doctor.ts", env: compared });
  await expect(compare(compared)).rejects.toThrow(/found {4}ACCOUNT_DIFFERS {2}default\/ann/);
  await compare(compared, "--repair");
  await compare(compared);

  const restored = envOf("restored-", afterwards);
  await setUp(restored);
  const server = await startServer(restored);
  children.push(await startService({ name: "worker", entry: "src/worker.ts", env: restored }));
  const { balance } = await server.points.getBalance(account);
  expect(balance?.availablePoints).toBe(23n);
  const { differences } = await server.points.verifyAccount(account);
  expect(differences).toEqual([]);
  await server.holds.releaseHold({ ...account, holdId: "h" });
  expect((await server.points.getBalance(account)).balance?.availablePoints).toBe(27n);
  expect((await server.points.grantPoints({ ...account, eventId: "2", points: 9n })).replayed).toBe(
    true,
  );
  await server.stop();
  expect(deniedIn(denied())).toEqual([]);
});
