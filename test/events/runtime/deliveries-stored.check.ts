/** Tests deliveries with DynamoDB, the rights of the events process, and a real web hook. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDestinations } from "../../../src/events/destinations/create-destinations.ts";
import { subscriptionRef } from "../../../src/events/ports/records.ts";
import { deliverAll } from "../../../src/events/runtime/deliveries.ts";
import { createSubscriptionMetrics } from "../../../src/events/runtime/subscription-metrics.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { composeAs } from "../../support/deploy/compose-as.ts";
import { silent, soon } from "../../support/fixtures/deliveries.ts";
import { entryEvent } from "../../support/fixtures/listed-events.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startHookServer } from "../../support/servers/hook-server.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";
import { ownTables } from "../../support/stores/own-tables.ts";

const { endpoint, prefix, names, clients } = ownTables("deliveries");

/** Delivers to a web hook as an events process may. Returns how to stop it. */
function startProcess(url: string, secretFile: string) {
  const config = readConfig(
    { MEGURI_DYNAMODB_ENDPOINT: endpoint, MEGURI_TABLE_PREFIX: prefix },
    "events",
  );
  const { deps, close } = composeAs(["events"], config, noWorkflows, silent);
  const stopping = new AbortController();
  const shop = {
    ...({ name: "shop", type: "http", types: "all", programs: "all", start: "oldest" } as const),
    ...{ url, secret_files: [secretFile], allow_private: true },
  };
  const done = deliverAll(
    {
      deps,
      subscribed: createDestinations([shop], silent),
      eventLog: deps.eventLog,
      installation: "test",
      metrics: createSubscriptionMetrics(),
      logger: silent,
      now: Date.now,
      timing: soon,
    },
    stopping.signal,
  );
  const stop = async () => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    await done;
    await close();
  };
  onTestFinished(stop);
  return { deps, stop };
}

test("a web hook gets all events of the log, the second process those that are new", async () => {
  const folder = mkdtempSync(join(tmpdir(), "secrets-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = join(folder, "secret");
  writeFileSync(secret, `whsec_${randomBytes(32).toString("base64")}\n`);
  const server = await startHookServer();
  const log = createEventLog(clients.retrying, names("events"));
  await log.begin();
  const append = async (number: number) => {
    const batch = { number, time: Date.now(), events: [entryEvent("aoi", number)] };
    expect(await log.append(batch, { positions: {}, gaps: [] })).toBe(true);
  };
  const ids = () => server.hooks.map(({ body }) => JSON.parse(body).id);
  const first = startProcess(server.url, secret);
  await append(1);
  await append(2);
  await eventually(async () => expect(ids()).toHaveLength(2));
  await first.stop();
  await append(3);
  const second = startProcess(server.url, secret);
  await eventually(async () => expect(ids()).toHaveLength(3));
  const stored = () => second.deps.reader.get(subscriptionRef("shop"));
  await eventually(async () => expect((await stored())?.value).toMatchObject({ number: 4 }));
  await second.stop();
  expect(ids()).toEqual([1, 2, 3].map((number) => `points/default/aoi/${number}`));
});
