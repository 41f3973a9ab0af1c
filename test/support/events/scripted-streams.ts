/** Streams of changes that a test has written down, read as those of the store are. */
import { setImmediate as turn } from "node:timers/promises";
import type {
  ChangeStreams,
  ShardPosition,
  ShardPositions,
  StoredChange,
  StreamedTable,
} from "../../../src/events/ports/changes.ts";

/** The changes of one shard, in order. Their sequence numbers are their indexes. */
export interface ScriptedShard {
  readonly shard: string;
  readonly table: StreamedTable;
  readonly changes: readonly StoredChange[];
}

export interface ScriptedStreams extends ChangeStreams {
  /** Resolves when a reader has come to the end of all shards. */
  readonly readToEnd: Promise<void>;
}

/** The position behind the first `count` changes of a shard. */
export const positionBehind = (
  { table, changes }: ScriptedShard,
  count: number,
): ShardPosition => ({
  table,
  stream: `arn:${table}`,
  ...(count > 0 && { sequence: String(count - 1) }),
  time: changes[count - 1]?.time ?? 0,
});

/** Hands over pages of up to `maxPage` changes, some of which are empty. */
export function scriptedStreams(
  shards: readonly ScriptedShard[],
  random: () => number,
  maxPage = 5,
): ScriptedStreams {
  const atEnd = Promise.withResolvers<void>();
  let unread = shards.length;

  async function readShard(
    script: ScriptedShard,
    positions: ShardPositions,
    take: Parameters<ChangeStreams["read"]>[1],
    signal: AbortSignal,
  ): Promise<void> {
    const { shard, changes } = script;
    const sequence = positions[shard]?.sequence;
    let next = sequence === undefined ? 0 : Number(sequence) + 1;
    while (next < changes.length && !signal.aborted) {
      for (let turns = Math.floor(3 * random()); turns > 0; turns--) await turn();
      const page = changes
        .slice(next, next + Math.floor((maxPage + 1) * random()))
        .map((change, i) => ({ ...change, sequence: String(next + i) }));
      next += page.length;
      const position = positionBehind(script, next);
      await take({ kind: "changes", changes: page, shard, position });
    }
    if (signal.aborted) return;
    unread -= 1;
    if (unread === 0) atEnd.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }

  return {
    readToEnd: atEnd.promise,
    async read(positions, take, signal) {
      unread = shards.length;
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      const reading = shards.map((script) =>
        readShard(script, positions, take, either).catch((error: unknown) => {
          stop.abort();
          throw error;
        }),
      );
      const results = await Promise.allSettled(reading);
      for (const result of results) if (result.status === "rejected") throw result.reason;
    },
    behindMs: () => ({ points: 0, reservations: 0, bulk: 0, reactions: 0, notifications: 0 }),
  };
}
