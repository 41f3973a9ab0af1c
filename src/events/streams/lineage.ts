/** Which shards of a stream may be read: parents before their children. */
import type { ShardPosition } from "../ports/changes.ts";
import type { ListedShard } from "./requests.ts";

/** What is known of the shards of one table. */
interface Known {
  readonly listed: readonly ListedShard[];
  readonly positions: ReadonlyMap<string, ShardPosition>;
  /** Whether shards were read before, so that none may have gone unread. */
  readonly hasHistory: boolean;
}

/** A shard that may be read. */
export interface ReadableShard extends ListedShard {
  /** Whether it was never read and is not listed, although a shard continues it. */
  readonly isMissing: boolean;
}

/**
 * The shards of which all parents were read, without those that were read to their end. With a
 * history, the unlisted parent of a shard that was never begun is one of them: unless it can be
 * read, changes are lost.
 */
export function readableShards({ listed, positions, hasHistory }: Known): ReadableShard[] {
  const children = Map.groupBy(listed, ({ parent }) => parent);
  const names = new Set(listed.map(({ id }) => id));
  const isKnown = (id: string) => names.has(id) || positions.has(id);
  /** A shard without a position was read if one that continues it was begun. */
  const wasRead = (id: string): boolean => {
    const position = positions.get(id);
    if (position) return position.ended === true;
    const next = children.get(id) ?? [];
    return next.some((child) => positions.has(child.id) || wasRead(child.id));
  };

  const found = new Map<string, ReadableShard>();
  const add = (shard: ListedShard, isMissing = false) =>
    void found.set(shard.id, { ...shard, isMissing });
  for (const shard of listed) {
    const { id, parent } = shard;
    if (wasRead(id)) continue;
    if (positions.has(id) || parent === undefined || wasRead(parent)) add(shard);
    else if (!isKnown(parent)) {
      if (hasHistory) add({ id: parent }, true);
      else add(shard);
    }
  }
  for (const [id, { ended }] of positions) {
    if (!ended && !names.has(id) && !wasRead(id)) add({ id });
  }
  return [...found.values()];
}
