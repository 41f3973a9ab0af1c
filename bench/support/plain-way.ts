/**
 * What the baseline servers share: their composition, and a transaction for each call. Version
 * conflicts are retried after a random pause. With BENCH_QUEUE=1 the calls of one process on one
 * key wait for each other instead, which avoids conflicts within a process.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { compose } from "../../src/compose.ts";
import { readConfig } from "../../src/config/config.ts";
import { createLogger } from "../../src/log.ts";
import { createListeners } from "../../src/rpc/server/listeners.ts";
import { createClients } from "../../src/store/dynamodb/sdk/client.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";

const patienceMs = 5_000;
const pauseMs = Number(process.env.BENCH_PAUSE_MS ?? 20);
const queued = process.env.BENCH_QUEUE === "1";

export const config = readConfig(process.env, "server");
export const log = createLogger("plain", config.logLevel);
export const { deps } = compose(config, noWorkflows, log);
const { single } = createClients({ endpoint: config.dynamoEndpoint, region: config.region });

/** Commits one transaction, with BENCH_QUEUE=1 after the earlier ones of the same key. */
export const commit = (key: string, actions: TransactWriteItem[]): Promise<void> =>
  inTurn(key, () => untilCommitted(actions));

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

async function untilCommitted(TransactItems: TransactWriteItem[]): Promise<void> {
  const token = randomUUID();
  const limit = performance.now() + patienceMs;
  for (;;) {
    try {
      await single.send(
        new TransactWriteItemsCommand({ ClientRequestToken: token, TransactItems }),
      );
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (performance.now() > limit) throw new ConnectError("contended", Code.Aborted);
      await sleep(2 * pauseMs * Math.random());
    }
  }
}

const isConflict = (error: unknown): boolean =>
  error instanceof TransactionCanceledException &&
  (error.CancellationReasons ?? []).some(({ Code: code }) => code === "TransactionConflict");
