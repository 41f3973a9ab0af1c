/** The shards of a table that are read at present. */
import pLimit from "p-limit";
import type { Instant } from "../../platform/words/month.ts";
import type { Taken } from "../ports/changes.ts";
import {
  readShard,
  type ShardEnd,
  type ShardReaderDeps,
  type ShardReading,
  type ShardStart,
} from "./shard-reader.ts";

/** How many pages of changes of a table are in memory at most, of up to 1 MB as JSON. */
const concurrency = 16;

type TakeChanges = (taken: Extract<Taken, { kind: "changes" }>) => Promise<void>;

interface Finished {
  readonly id: string;
  readonly end: ShardEnd;
  readonly readTime: Instant;
}

export interface RunningShards {
  /** Aborts with the signal that was given, and when `take` fails. */
  readonly signal: AbortSignal;
  has(id: string): boolean;
  count(): number;
  start(shard: ShardStart): void;
  /** Waits for an end, at most so many ms; returns those that it has not returned yet. */
  finished(waitMs: number): Promise<readonly Finished[]>;
  /** The times up to which the shards were read that have more to be read. */
  behindSince(): readonly Instant[];
  /** Stops all, and waits until nothing is taken any more. Throws what `take` has thrown. */
  stop(): Promise<void>;
}

export function createRunningShards(
  deps: ShardReaderDeps,
  take: TakeChanges,
  outer: AbortSignal,
): RunningShards {
  const stopping = new AbortController();
  const signal = AbortSignal.any([outer, stopping.signal]);
  const limit = pLimit(concurrency);
  const running = new Map<string, ShardReading>();
  const ends: Finished[] = [];
  let woken = Promise.withResolvers<void>();
  let failure: { readonly error: unknown } | undefined;
  signal.addEventListener("abort", () => woken.resolve(), { once: true });

  async function follow(id: string, reading: ShardReading): Promise<void> {
    try {
      const end = await reading.done;
      ends.push({ id, end, readTime: reading.readTime() });
    } catch (error) {
      failure ??= { error };
      stopping.abort();
    }
    woken.resolve();
  }

  return {
    signal,
    has: (id) => running.has(id),
    count: () => running.size,

    start(shard) {
      const reading = readShard(deps, shard, limit, take, signal);
      running.set(shard.id, reading);
      void follow(shard.id, reading);
    },

    async finished(waitMs) {
      const timer = setTimeout(() => woken.resolve(), waitMs);
      await woken.promise;
      clearTimeout(timer);
      if (!signal.aborted) woken = Promise.withResolvers();
      for (const { id } of ends) running.delete(id);
      return ends.splice(0);
    },

    behindSince: () => [...running.values()].flatMap((each) => each.behindSince() ?? []),

    async stop() {
      stopping.abort();
      await Promise.allSettled([...running.values()].map(({ done }) => done));
      running.clear();
      if (failure) throw failure.error;
    },
  };
}
