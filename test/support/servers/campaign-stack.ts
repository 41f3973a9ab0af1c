/**
 * Everything real for a bulk grant under faults: a server, worker processes that are killed,
 * Temporal, a store with faults, and Slack's loopback server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { maxPointsPerRow } from "../models/bulk-sheet.ts";
import { startServer, type TestServer } from "./server.ts";
import { type SlackServer, startSlackServer } from "./slack-server.ts";
import { startWorkerStack, type WorkerStack } from "./worker.ts";

/** The servers of a campaign, which all use one store and one Temporal. */
export interface CampaignStack {
  readonly workers: WorkerStack;
  readonly server: TestServer;
  readonly slack: SlackServer;
  stop(): Promise<void>;
}

/** Starts everything but workers. The server, too, reaches the store through the fault proxy. */
export async function startCampaignStack(rowsPerSecond: number): Promise<CampaignStack> {
  const slack = await startSlackServer();
  const env = {
    MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl,
    MEGURI_BULK_ROWS_PER_SECOND: String(rowsPerSecond),
  };
  const workers = await startWorkerStack({ store: "proxied dynamodb", worker: false, env });
  const { config, programId, proxy, workflows } = workers;
  const server = await startServer({
    testClock: false,
    workflows,
    dynamoEndpoint: proxy.endpoint,
    tablePrefix: config.tablePrefix,
    env,
  });
  await enforceRules(server.deps, programId, { maxPointsPerRow });
  return {
    workers,
    server,
    slack,
    async stop() {
      await server.stop();
      await workers.stop();
      await slack.stop();
    },
  };
}

/** Kills a worker process and starts the next one. */
interface KilledWorker {
  readonly kills: number;
  stop(): Promise<void>;
}

/** The faults of the store, besides its outages. */
export const faults = {
  conflict: 0.04,
  throttle: 0.04,
  lostAnswer: 0.04,
  serverError: 0.02,
  delay: 0.1,
  delayMs: [1, 30],
} as const;

/** How long the store is away while the next worker starts. */
const outageMs = 700;

/**
 * Runs a worker process that is killed each time the rows' transactions have reached the next
 * `every`, at most `maxKills` times; the store is away when the next worker starts. A kill follows
 * the rows and not the time, so that none hits the report, which is sent at most once.
 */
export async function startKilledWorker(
  { workers: { proxy, startWorkerProcess } }: CampaignStack,
  bulkGrantId: string,
  { every, maxKills }: { readonly every: number; readonly maxKills: number },
): Promise<KilledWorker> {
  const rowKey = `b:${bulkGrantId}_`;
  let transactions = 0;
  let kills = 0;
  let isStopped = false;
  let worker: Child = await startWorkerProcess();
  proxy.onRequest((operation, body) => {
    if (operation === "TransactWriteItems" && body.includes(rowKey)) transactions += 1;
  });
  const killing = (async () => {
    while (!isStopped && kills < maxKills) {
      await sleep(20);
      if (transactions < (kills + 1) * every) continue;
      await worker.killHard();
      kills += 1;
      proxy.down(true);
      const next = startWorkerProcess();
      await sleep(outageMs);
      proxy.down(false);
      worker = await next;
    }
  })();
  return {
    get kills() {
      return kills;
    },
    async stop() {
      isStopped = true;
      await killing;
      proxy.onRequest(undefined);
      await worker.stop();
    },
  };
}
