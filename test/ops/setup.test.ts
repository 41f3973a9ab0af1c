/** Runs `src/ops/setup.ts` twice, as deployments do, on an empty DynamoDB and Temporal. */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { monthEndId, reconcileId, searchAttributes } from "../../src/contract.ts";
import { runToEnd } from "../../src/dev/stack/service.ts";
import { startTemporal, type Temporal } from "../../src/dev/stack/temporal-dev-server.ts";
import { startServer } from "../support/servers/server.ts";

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

test("creates everything, and nothing the second time", async () => {
  await setup();
  const server = await startServer({ tablePrefix: prefix, testClock: false });
  const { programs } = await server.programs.listPrograms({});
  expect(programs).toMatchObject([
    { programId: "default", timeZone: "Asia/Tokyo", lifetimeMonths: 12 },
  ]);
  await expect.poll(schedules, { timeout: 30_000 }).toEqual([monthEndId("default"), reconcileId]);
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: temporal.namespace,
  });
  expect(Object.keys(customAttributes)).toEqual(
    expect.arrayContaining(Object.values(searchAttributes)),
  );

  await setup();
  expect((await server.programs.listPrograms({})).programs).toEqual(programs);
  expect(await schedules()).toEqual([monthEndId("default"), reconcileId]);
  await server.stop();
});
