/** Makes the alerts of events true by real faults, as a real Prometheus sees them. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installationRef } from "../../src/platform/ports/records.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { type DynamoDbLocal, startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWebHook, type WebHook } from "../support/fixtures/web-hook.ts";
import { expressions } from "../support/servers/alerts.ts";
import { type Prometheus, startPrometheus } from "../support/servers/prometheus.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { replaceStream } from "../support/streams/replace-stream.ts";

let dynamoDbLocal: DynamoDbLocal | undefined;
let stack: WorkerStack;
let folder: string;
let prometheus: Prometheus;
let hook: WebHook;
let events: Child;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-event-alerts-"));
  hook = await startWebHook(folder);
  // Of its own: there a read of any stream takes as long as there are changes in all streams.
  dynamoDbLocal = await startDynamoDbLocal();
  const onIt = { MEGURI_DYNAMODB_ENDPOINT: dynamoDbLocal.endpoint };
  stack = await startWorkerStack({ store: "proxied dynamodb", worker: false, env: onIt });
  await changeRecord(stack.deps, { ref: installationRef }, () => ({ id: randomUUID() }));
  const [port] = await findPorts(0);
  env = { MEGURI_EVENTS_PORT: String(port), MEGURI_EVENT_SUBSCRIPTIONS: hook.subscriptions };
  events = await stack.startEventsProcess(env);
  prometheus = await startPrometheus({ "meguri-events": port });
});
afterAll(async () => {
  await prometheus?.stop();
  await events?.stop();
  await stack?.stop();
  await dynamoDbLocal?.stop();
  hook?.close();
  await rm(folder, { recursive: true });
});

let grants = 0;

/** A grant to another user each time. */
async function grant(): Promise<void> {
  grants += 1;
  const { deps, programId } = stack;
  const call = { reason: "", caller: asService("tests"), deadline: undefined };
  await grantPoints(deps, {
    ...call,
    ...{ programId, userId: `user-${grants}`, eventId: "welcome", points: 10 },
  });
}

/** Waits until alerts are true, or no longer true. */
async function become(isTrue: boolean, ...alerts: readonly string[]): Promise<void> {
  for (const alert of alerts) {
    await eventually(async () => {
      const count = await prometheus.count(expressions[alert] ?? "");
      expect(count > 0, `${alert} is true`).toBe(isTrue);
    }, 300_000);
  }
}

/** Stores an entry that nobody can decode. */
const damageEntry = () =>
  stack.clients.retrying.send(
    new PutItemCommand({
      TableName: `${stack.config.tablePrefix}points`,
      Item: {
        pk: { S: `A#${stack.programId}#damaged` },
        sk: { S: "L#000000000001" },
        v: { N: "1" },
      },
    }),
  );

test("alerts follow what happens to events", async () => {
  const ofLog = ["MeguriEventsNotWritten", "MeguriEventsBehind"];
  const ofChanges = ["MeguriEventGap", "MeguriEventUnreadable"];
  const ofSubscriptions = ["MeguriSubscriptionBehind", "MeguriSubscriptionPaused"];
  await grant();
  await become(false, ...ofLog, ...ofChanges, ...ofSubscriptions);

  stack.proxy.refuse("AccessDeniedException", ["GetRecords"]);
  await become(true, "MeguriEventsBehind");
  stack.proxy.refuse(undefined);
  await become(false, "MeguriEventsBehind");

  await damageEntry();
  await become(true, "MeguriEventUnreadable");

  // The destination is gone.
  hook.answer(410);
  await grant();
  await become(true, ...ofSubscriptions);

  await events.killHard();
  await become(true, "MeguriEventsNotWritten");
  await replaceStream(stack.clients.retrying, `${stack.config.tablePrefix}points`);
  await grant();
  hook.answer(204);
  events = await stack.startEventsProcess(env);
  // A process that starts tries what is paused at once.
  await become(false, ...ofLog, ...ofSubscriptions);
  await become(true, "MeguriEventGap");
});
