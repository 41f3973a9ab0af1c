/** Finds out what the stream of a table has lost, and where reading of it goes on. */
import type { Instant } from "../../platform/words/month.ts";
import type { ShardPosition, ShardPositions, StreamedTable, Taken } from "../ports/changes.ts";
import { readableShards } from "./lineage.ts";
import { refusalOf, type Stream } from "./requests.ts";
import type { ShardReaderDeps } from "./shard-reader.ts";
import { untilAnswered } from "./until-answered.ts";

/** A gap begins earlier than its oldest position, because the times of changes are approximate. */
const slackMs = 60_000;

/**
 * The gap of the shards that were found to be lost, and of all others whose changes are not kept
 * any more, so that one gap is closed and not one after another. Reading goes on at the positions
 * that are still good, and at the oldest records of all other shards.
 */
export async function findGap(
  { requests, now, log }: Pick<ShardReaderDeps, "requests" | "now" | "log">,
  table: StreamedTable,
  { stream, positions, found }: Loss,
  signal: AbortSignal,
): Promise<Extract<Taken, { kind: "gap" }>> {
  const isLost = ([id, position]: readonly [string, ShardPosition]) =>
    untilAnswered(
      () =>
        requests.iterator(id, position, signal).then(
          () => false,
          (error: unknown) => {
            const refusal = refusalOf(error);
            if (refusal === "gone" || refusal === "trimmed") return true;
            throw error;
          },
        ),
      (err) => log.warn({ err, table, shard: id }, "a shard could not be read; trying again"),
      signal,
    );

  const lost = new Set(found);
  for (const [id, position] of positions) {
    if (position.ended || lost.has(id)) continue;
    if (position.stream !== stream.arn || (await isLost([id, position]))) lost.add(id);
  }
  const ofLost = [...positions].filter(([id]) => lost.has(id)).map(([, position]) => position);
  // What was lost before it was begun comes after any of the positions.
  const isUnknown = ofLost.length === 0 || ofLost.length < lost.size;
  const startTime = oldestOf(isUnknown ? positions.values() : ofLost) - slackMs;
  const endTime = now();
  const listed = new Set(stream.shards.map(({ id }) => id));
  const kept = [...positions].filter(
    ([id, position]) =>
      position.stream === stream.arn && !lost.has(id) && (!position.ended || listed.has(id)),
  );
  const gap = { table, startTime, endTime };
  return { kind: "gap", gap, positions: positionsAfter(stream, table, new Map(kept), endTime) };
}

/** What was lost, and what else is known of the stream of the table. */
interface Loss {
  readonly stream: Stream;
  readonly positions: ReadonlyMap<string, ShardPosition>;
  /** The shards that are lost; none where the stream is another one. */
  readonly found: readonly string[];
}

/** The positions that are good, and new ones of the shards with which reading begins. */
function positionsAfter(
  { arn, shards }: Stream,
  table: StreamedTable,
  kept: ReadonlyMap<string, ShardPosition>,
  time: Instant,
): ShardPositions {
  const begun = readableShards({ listed: shards, positions: kept, hasHistory: false });
  const fresh = begun
    .filter(({ id }) => !kept.has(id))
    .map(({ id }) => [id, { table, stream: arn, time }] as const);
  return Object.fromEntries([...kept, ...fresh]);
}

/** The oldest time of positions. */
export const oldestOf = (positions: Iterable<ShardPosition>): Instant =>
  Math.min(...Array.from(positions, ({ time }) => time));
