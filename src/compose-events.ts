/** Builds the dependencies of the events process. */
import { type Composed, type ComposeOptions, clientsOf, composeStore } from "./compose.ts";
import { createChangeStreams } from "./events/streams/change-streams.ts";
import { createStreamsClient } from "./events/streams/client.ts";
import type { EventDeps } from "./hub/deps.ts";
import type { Config } from "./platform/config/config.ts";
import { tableName } from "./platform/dynamodb/tables.ts";
import type { Logger } from "./platform/observe/log.ts";
import { watchStore } from "./platform/work/store-watch.ts";
import { createRecordScan } from "./store/record-scan.ts";
import { decodeChange } from "./store/stream-records.ts";

/**
 * Builds the dependencies of the events process, which reads the streams of the tables. It has no
 * Temporal, no sources and no reports.
 */
export function composeEvents(
  config: Config,
  log: Logger,
  { clients = clientsOf(config) }: ComposeOptions = {},
): Composed<EventDeps> {
  const names = tableName(config.tablePrefix);
  const ofStore = composeStore(config, clients);
  const storeWatch = watchStore(ofStore, log);
  const { dynamoEndpoint: endpoint, region } = config;
  const streams = createStreamsClient({ endpoint, region });
  const storeTime = () => Date.now() + clients.offsetMs();
  const changeStreams = createChangeStreams({
    ...{ streams, dynamo: clients.retrying, tableName: names, decode: decodeChange, log },
    now: storeTime,
  });
  return {
    deps: {
      ...ofStore,
      ...{ changeStreams, storeTime },
      recordScan: createRecordScan(clients.retrying, names),
    },
    async close() {
      storeWatch.close();
      streams.destroy();
      clients.close();
    },
  };
}
