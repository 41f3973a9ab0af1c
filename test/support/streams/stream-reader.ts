/** Reads streams in tests, and notes what is taken as a process would store it. */

import type { Gap, ShardPosition, StoredChange, Taken } from "../../../src/events/ports/changes.ts";
import { createChangeStreams } from "../../../src/events/streams/change-streams.ts";
import { createStreamsClient } from "../../../src/events/streams/client.ts";
import type { DecodeChange } from "../../../src/events/streams/shard-reader.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createLogger, type Logger } from "../../../src/platform/observe/log.ts";
import { eventually } from "../fixtures/waiting.ts";

interface StreamReaderOptions {
  readonly endpoint: string;
  readonly prefix: string;
  readonly now?: () => number;
  readonly log?: Logger;
  /** By default a change has its hash key in `unreadable`, by which a test knows it again. */
  readonly decode?: DecodeChange;
}

const byKey: DecodeChange = (_, { keys }) => ({ before: [], after: [], unreadable: keys.pk?.S });

/** What a process would have stored. */
export interface Stored {
  readonly positions: Record<string, ShardPosition>;
  readonly changes: StoredChange[];
  readonly gaps: Gap[];
  /** All that was taken. */
  readonly taken: Taken[];
}

export const nothingStored = (): Stored => ({ positions: {}, changes: [], gaps: [], taken: [] });

/** Stores what was taken, as the writer of the log does. */
export function store(stored: Stored, taken: Taken): void {
  const { positions, changes, gaps } = stored;
  stored.taken.push(taken);
  if (taken.kind === "changes") {
    positions[taken.shard] = taken.position;
    changes.push(...taken.changes);
    return;
  }
  for (const [id, { table }] of Object.entries(positions)) {
    if (table === taken.gap.table) delete positions[id];
  }
  Object.assign(positions, taken.positions);
  gaps.push(taken.gap);
}

export function createStreamReader(options: StreamReaderOptions) {
  const { endpoint, prefix, now = Date.now, decode = byKey } = options;
  const { log = createLogger("test", "silent") } = options;
  const clients = createClients({ endpoint, region: "local" });
  const streams = createStreamsClient({ endpoint, region: "local" });
  const deps = { dynamo: clients.retrying, streams, tableName: tableName(prefix) };
  const changes = createChangeStreams({ ...deps, decode, now, log });

  return {
    ...changes,

    /** Reads on from what is stored until the check passes. */
    async readUntil(stored: Stored, check: () => void, take = store): Promise<void> {
      const stop = new AbortController();
      const reading = changes.read(
        stored.positions,
        async (taken) => take(stored, taken),
        stop.signal,
      );
      try {
        await Promise.race([reading, eventually(async () => check())]);
      } finally {
        stop.abort();
        await reading;
      }
    },

    close() {
      streams.destroy();
      clients.close();
    },
  };
}

/** The keys of the changes, in the order in which they were taken. */
export const keysOf = (changes: readonly StoredChange[]): string[] =>
  changes.map(({ unreadable = "" }) => unreadable);
