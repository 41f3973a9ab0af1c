import type { Clock } from "./app/ports/clock.ts";
import type { Deps } from "./app/ports/deps.ts";
import type { Workflows } from "./app/ports/workflows.ts";
import type { Config } from "./config.ts";
import type { Logger } from "./log.ts";
import { createBackgroundTasks } from "./runtime/background-tasks.ts";
import { createSystemClock, createTestClock } from "./runtime/clocks.ts";
import { createProgramCache } from "./runtime/program-cache.ts";
import { createTargetOwnerCache } from "./runtime/target-owner-cache.ts";
import { createUnreadCountStreams } from "./runtime/unread-count-streams.ts";
import { createDynamoItemStore } from "./store/dynamodb/item-store.ts";
import { createDynamoPurger } from "./store/dynamodb/purger.ts";
import { createDynamoReader } from "./store/dynamodb/readers/index.ts";
import { createClients } from "./store/dynamodb/sdk/client.ts";
import { tableName } from "./store/dynamodb/tables.ts";
import { CommitEngine } from "./store/engine/engine.ts";

const dayMs = 86_400_000;

/** The use cases' dependencies on the real store, and what ends them. */
export interface Composed {
  readonly deps: Deps;
  /** Finishes the work in the background, then lets go of the store. */
  close(): Promise<void>;
}

/** Puts together what server, worker and tools share. */
export function compose(config: Config, workflows: Workflows, log: Logger): Composed {
  const clients = createClients({ endpoint: config.dynamoEndpoint, region: config.region });
  const names = tableName(config.tablePrefix);
  const reader = createDynamoReader(clients, names);
  const clock: Clock = config.testClock
    ? createTestClock(reader)
    : createSystemClock(clients.skewMs);
  const background = createBackgroundTasks(log);
  const unreadCounts = createUnreadCountStreams({ reader, log, maxStreams: config.maxStreams });
  return {
    deps: {
      engine: new CommitEngine({ store: createDynamoItemStore(clients.single, names), clock }),
      reader,
      clock,
      programs: createProgramCache(reader, config.testClock),
      workflows,
      owners: createTargetOwnerCache(reader),
      purger: createDynamoPurger(clients, names),
      unreadCounts,
      historyMs: config.historyDays * dayMs,
      background: background.run,
    },
    async close() {
      unreadCounts.close();
      await background.close();
      clients.close();
    },
  };
}
