/** Reads the stream of one table: finds its shards, and closes gaps before it reads on. */
import type { Instant } from "../../platform/words/month.ts";
import type { ShardPosition, StreamedTable, Taken } from "../ports/changes.ts";
import { findGap, oldestOf } from "./find-gap.ts";
import { readableShards } from "./lineage.ts";
import type { Stream } from "./requests.ts";
import { createRunningShards, type RunningShards } from "./running-shards.ts";
import type { ShardReaderDeps } from "./shard-reader.ts";
import { untilAnswered } from "./until-answered.ts";

interface TableReader {
  /** As `ChangeStreams.read` does, with the positions of this table. */
  read(
    positions: ReadonlyMap<string, ShardPosition>,
    take: (taken: Taken) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  behindMs(): number;
}

/** How often new shards are looked for, and how soon again after a shard without children. */
const listMs = 10_000;
const listAgainMs = 1_000;

export function createTableReader(deps: ShardReaderDeps, table: StreamedTable): TableReader {
  const { now } = deps;
  const streams = createDescriptions(deps, table);
  let running: RunningShards | undefined;
  /** All changes up to here were read, while no shard is read. */
  let readTime = now();
  const openEnds = createOpenEnds();

  /** Reads until changes are lost, and returns the shards; none if the stream is another one. */
  async function readUntilLost(
    positions: Map<string, ShardPosition>,
    { signal, has, start, finished }: RunningShards,
  ): Promise<readonly string[]> {
    let hasHistory = positions.size > 0;
    for (;;) {
      const stream = await streams.describe(signal);
      if ([...positions.values()].some((each) => each.stream !== stream.arn)) return [];
      openEnds.list(stream, positions);
      let listAt = performance.now() + listMs;
      while (performance.now() < listAt) {
        const known = { listed: stream.shards, positions, hasHistory };
        for (const { id, parent = "", isMissing } of readableShards(known)) {
          if (has(id)) continue;
          const since = positions.get(parent)?.time;
          const time = since ?? (hasHistory ? oldestOf(positions.values()) : now());
          const position = positions.get(id) ?? { table, stream: stream.arn, time };
          start({ id, isMissing, position, isNew: !positions.has(id) });
        }
        hasHistory = true;
        const ends = await finished(listAt - performance.now());
        signal.throwIfAborted();
        const lost = ends.filter(({ end }) => end === "lost").map(({ id }) => id);
        if (lost.length > 0) return lost;
        for (const { id, readTime: until } of ends) {
          readTime = Math.max(readTime, until);
          if (!openEnds.add(stream, id, until)) continue;
          listAt = Math.min(listAt, performance.now() + listAgainMs);
        }
      }
    }
  }

  /** The same, and stops all shards before it returns. Undefined: the signal has aborted. */
  async function readShards(
    positions: Map<string, ShardPosition>,
    take: (taken: Taken) => Promise<void>,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const shards = createRunningShards(
      deps,
      async (taken) => {
        await take(taken);
        positions.set(taken.shard, taken.position);
      },
      signal,
    );
    running = shards;
    try {
      return await readUntilLost(positions, shards);
    } catch (error) {
      if (!shards.signal.aborted) throw error;
      return undefined;
    } finally {
      await shards.stop();
      running = undefined;
    }
  }

  return {
    async read(given, take, signal) {
      let positions = new Map(given);
      openEnds.clear();
      readTime = positions.size > 0 ? oldestOf(positions.values()) : now();
      for (;;) {
        const found = await readShards(positions, take, signal);
        if (found === undefined) return;
        const stream = await streams.describe(signal);
        const taken = await findGap(deps, table, { stream, positions, found }, signal);
        deps.log.error(taken.gap, "the stream of a table has lost changes before they were read");
        readTime = taken.gap.startTime;
        openEnds.clear();
        await take(taken);
        positions = new Map(Object.entries(taken.positions));
      }
    },

    behindMs() {
      const since = [...(running?.behindSince() ?? []), ...openEnds.times()];
      if (!running?.count()) since.push(readTime);
      return since.length === 0 ? 0 : Math.max(0, now() - Math.min(...since));
    },
  };
}

/** Describes the latest stream of a table, and logs whether it is read. */
function createDescriptions({ requests, log }: ShardReaderDeps, table: StreamedTable) {
  let state: "unknown" | "on" | "off" = "unknown";

  function note({ isEnabled, arn: stream }: Stream): void {
    const found = isEnabled ? "on" : "off";
    if (found === state) return;
    state = found;
    if (isEnabled) log.info({ table, stream }, "reading the stream of a table");
    else log.error({ table, stream }, "the stream of a table is switched off; switch it on");
  }

  return {
    /** Waits for an answer. Rejects when the signal aborts. */
    async describe(signal: AbortSignal): Promise<Stream> {
      const stream = await untilAnswered(
        () => requests.stream(table, signal),
        (err) => {
          state = "unknown";
          log.warn({ err, table }, "the stream of a table could not be described; trying again");
        },
        signal,
      );
      note(stream);
      return stream;
    },
  };
}

/** The shards that were read to their end while none is listed that continues them. */
function createOpenEnds() {
  const endTimes = new Map<string, Instant>();
  const hasChild = ({ shards }: Stream, id: string) => shards.some(({ parent }) => parent === id);

  return {
    clear: () => endTimes.clear(),
    /** Up to when they were read. */
    times: () => endTimes.values(),
    /** Returns whether the shard is one of them. */
    add(stream: Stream, id: string, readTime: Instant): boolean {
      if (hasChild(stream, id)) return false;
      endTimes.set(id, readTime);
      return true;
    },
    list(stream: Stream, positions: ReadonlyMap<string, ShardPosition>): void {
      for (const id of endTimes.keys()) if (hasChild(stream, id)) endTimes.delete(id);
      for (const { id } of stream.shards) {
        const position = positions.get(id);
        if (!position?.ended || hasChild(stream, id) || endTimes.has(id)) continue;
        endTimes.set(id, position.time);
      }
    },
  };
}
