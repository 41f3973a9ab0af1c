/**
 * What the baseline servers share: their composition, and a transaction for each call. With
 * BENCH_QUEUE=1 the calls on one key wait for each other, because AWS refuses a transaction on an
 * item that another one has locked.
 */
import { randomUUID } from "node:crypto";
import { type TransactWriteItem, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import type { ConnectRouter } from "@connectrpc/connect";
import { compose } from "../../src/compose.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { createListeners } from "../../src/platform/edge/listeners.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";

const queued = process.env.BENCH_QUEUE === "1";

export const config = readConfig(process.env, "server");
export const log = createLogger("plain", config.logLevel);
export const { deps } = compose(config, noWorkflows, log);
const { dynamoEndpoint: endpoint, region } = config;
const { single } = createClients({ endpoint, region, transport: "sdk" });

/** Commits one transaction, with BENCH_QUEUE=1 after the earlier ones of the same key. */
export const commit = (key: string, actions: TransactWriteItem[]): Promise<void> =>
  inTurn(key, () => send(actions));

/** Serves until SIGTERM. */
export async function serve(routes: (router: ConnectRouter) => void): Promise<void> {
  const listeners = createListeners({ routes, corsOrigins: [] });
  process.once("SIGTERM", () => process.exit(0));
  log.info(await listeners.listen(config.host, config), "ready");
}

const queues = new Map<string, Promise<void>>();

function inTurn(key: string, work: () => Promise<void>): Promise<void> {
  if (!queued) return work();
  const turn = (queues.get(key) ?? Promise.resolve()).catch(() => {}).then(work);
  queues.set(key, turn);
  return turn;
}

async function send(TransactItems: TransactWriteItem[]): Promise<void> {
  const ClientRequestToken = randomUUID();
  await single.send(new TransactWriteItemsCommand({ ClientRequestToken, TransactItems }));
}
