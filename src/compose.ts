/** Builds the dependencies that server, worker and tools have in common. */
import pThrottle from "p-throttle";
import type { BulkSources, Reporter } from "./app/ports/bulk-grants.ts";
import type { Clock } from "./app/ports/clock.ts";
import type { Deps } from "./app/ports/deps.ts";
import type { Workflows } from "./app/ports/workflows.ts";
import type { Config } from "./config.ts";
import { createDriveSource } from "./google/drive.ts";
import { createSheetSource } from "./google/sheet.ts";
import type { Logger } from "./log.ts";
import { createBackgroundTasks } from "./runtime/background-tasks.ts";
import { createBulkGrantStreams } from "./runtime/bulk-grant-streams.ts";
import { createSystemClock, createTestClock } from "./runtime/clocks.ts";
import { createProgramCache } from "./runtime/program-cache.ts";
import { createTargetOwnerCache } from "./runtime/target-owner-cache.ts";
import { createUnreadCountStreams } from "./runtime/unread-count-streams.ts";
import { createWorkflowLinks } from "./slack/links.ts";
import { createSlackReporter, noReporter } from "./slack/reporter.ts";
import { createBulkSources } from "./sources/bulk-sources.ts";
import { readSourceDefinitions } from "./sources/definitions.ts";
import { createFolderSource } from "./sources/folder.ts";
import { createS3Source } from "./sources/s3.ts";
import { createDynamoItemStore } from "./store/dynamodb/item-store.ts";
import { createDynamoPurger } from "./store/dynamodb/purger.ts";
import { createDynamoReader } from "./store/dynamodb/readers/index.ts";
import { createClients } from "./store/dynamodb/sdk/client.ts";
import { createDynamoSheetStore } from "./store/dynamodb/sheet-store.ts";
import { tableName } from "./store/dynamodb/tables.ts";
import { CommitEngine } from "./store/engine/engine.ts";
import { createWorkflows, type TemporalWorkflows } from "./temporal/workflows.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface Composed {
  readonly deps: Deps;
  /** Ends the streams, finishes the background tasks, then closes the clients of the store. */
  close(): Promise<void>;
}

/** Builds the client side of Temporal, which connects when it is first used. */
export const composeWorkflows = (config: Config, log: Logger): TemporalWorkflows =>
  createWorkflows({
    address: config.temporalAddress,
    namespace: config.temporalNamespace,
    taskQueue: config.taskQueue,
    log,
  });

/** Builds the use cases' dependencies on the real store. */
export function compose(config: Config, workflows: Workflows, log: Logger): Composed {
  const clients = createClients({ endpoint: config.dynamoEndpoint, region: config.region });
  const names = tableName(config.tablePrefix);
  const reader = createDynamoReader(clients, names);
  const clock: Clock = config.testClock
    ? createTestClock(reader, clients)
    : createSystemClock(clients);
  const background = createBackgroundTasks(log);
  const { maxStreams } = config;
  const unreadCounts = createUnreadCountStreams({ reader, log, maxStreams });
  const bulkGrantStreams = createBulkGrantStreams({ reader, log, maxStreams });
  const engine = new CommitEngine({ store: createDynamoItemStore(clients.single, names), clock });
  return {
    deps: {
      engine,
      readAhead: (requests) => engine.readAhead(requests),
      reader,
      clock,
      storeSilenceMs: clients.silenceMs,
      programs: createProgramCache(reader, config.testClock),
      workflows,
      owners: createTargetOwnerCache(reader),
      purger: createDynamoPurger(clients, names),
      unreadCounts,
      bulkGrantStreams,
      sheets: createDynamoSheetStore(clients, names),
      bulkSources: composeSources(config),
      reporter: composeReporter(config),
      approvalTimes: {
        reminderMs: config.approvalReminderHours * hourMs,
        expiryMs: config.approvalExpiryHours * hourMs,
      },
      awaitRowSlot: createRowSlots(config.bulkRowsPerSecond),
      historyMs: config.historyDays * dayMs,
      coolDownMs: config.coolDownHours * hourMs,
      background: background.run,
    },
    async close() {
      unreadCounts.close();
      bulkGrantStreams.close();
      await background.close();
      clients.close();
    },
  };
}

const composeSources = ({ bulkSources }: Config): BulkSources =>
  createBulkSources(readSourceDefinitions(bulkSources), {
    folder: createFolderSource,
    s3: createS3Source,
    drive: createDriveSource,
    sheet: createSheetSource,
  });

const composeReporter = (config: Config): Reporter => {
  const { slackWebhookUrl: webhookUrl, temporalUiUrl, temporalNamespace } = config;
  if (webhookUrl === undefined) return noReporter;
  return createSlackReporter({
    webhookUrl,
    links: createWorkflowLinks(temporalUiUrl, temporalNamespace),
  });
};

/**
 * Gives a process so many slots for rows a second: one every 10 ms at 100 a second, because several
 * at once would delay the reservations of that moment.
 */
function createRowSlots(perSecond: number): () => Promise<void> {
  const limit = Math.max(1, Math.floor(perSecond / 100));
  return pThrottle({ limit, interval: (limit / perSecond) * 1_000 })(async () => {});
}
