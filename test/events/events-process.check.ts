/** Tests of the events process on the streams of DynamoDB Local: killed, overtaken and drained. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEventLog } from "../../src/events/store/event-log.ts";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import { type Clients, createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { installationRef } from "../../src/platform/ports/records.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import { createProgram } from "../../src/points/use-cases/programs/commands.ts";
import { type DynamoDbLocal, startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { startService } from "../../tools/dev/stack/service.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startProcess } from "../support/models/fault-workload.ts";

const prefix = `events-${randomUUID().slice(0, 8)}-`;
const names = tableName(prefix);
let dynamoDbLocal: DynamoDbLocal;
let clients: Clients;

beforeAll(async () => {
  // Of its own: there a read of any stream takes as long as there are changes in all streams.
  dynamoDbLocal = await startDynamoDbLocal();
  clients = createClients({ endpoint: dynamoDbLocal.endpoint, region: "local" });
  await createTables(clients.retrying, localTableDefinitions(names));
});

afterAll(async () => {
  clients.close();
  await dynamoDbLocal.stop();
});

const startEvents = () =>
  startService({
    name: "events",
    entry: "src/events.ts",
    env: {
      MEGURI_DYNAMODB_ENDPOINT: dynamoDbLocal.endpoint,
      MEGURI_TABLE_PREFIX: prefix,
      MEGURI_EVENTS_PORT: "0",
      MEGURI_DRAIN_SECONDS: "10",
      AWS_REGION: "local",
    },
  });

test("each grant is in the log once and in order, whichever process is killed", async () => {
  const { deps, close } = startProcess(dynamoDbLocal.endpoint, names);
  await changeRecord(deps, { ref: installationRef }, (found) => found ?? { id: randomUUID() });
  const caller = asService("shop");
  await createProgram(deps, {
    ...{ programId: "default", timeZone: "Asia/Tokyo", lifetimeMonths: 12 },
  });
  const log = createEventLog(clients.retrying, names("events"));
  let granted = 0;

  /** Grants some points, and waits until the log has all events, in order. */
  async function grantAndFind(): Promise<void> {
    for (let i = 0; i < 10; i++) {
      granted += 1;
      const event = { eventId: `g-${granted}`, caller, reason: "" };
      await grantPoints(deps, { programId: "default", userId: "u", points: 1, ...event });
    }
    const wanted = Array.from({ length: granted }, (_, i) => `points/default/u/${i + 1}`);
    await eventually(async () => {
      const { number = 0 } = (await log.tail()) ?? {};
      const ids: string[] = [];
      for (let next = 1; next <= number; next++) {
        for (const { events } of await log.read(next, 1)) ids.push(...events.map(({ id }) => id));
      }
      expect(ids.filter((id) => id.startsWith("points/"))).toEqual(wanted);
    });
  }

  const first = await startEvents();
  await grantAndFind();
  const second = await startEvents();
  await grantAndFind();
  // The second has taken the lease, so the first one waits until it is dead.
  await second.killHard();
  await grantAndFind();
  const third = await startEvents();
  await first.stop();
  await grantAndFind();
  await third.stop();
  close();
});
