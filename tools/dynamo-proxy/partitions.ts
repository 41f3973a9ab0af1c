/**
 * Limits the changes a second of each index partition. AWS throttles requests above the limit,
 * and the client sends them again; here they wait, so that only the rate counts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { actionsOf, parse, type TransactionRequest, type WireRequest } from "./wire.ts";

export type PartitionLimit = {
  /** The hash key of the index. */
  readonly attribute: string;
  readonly perSecond: number;
};

export function createPartitions(stopping: AbortSignal) {
  let limit: PartitionLimit | undefined;
  /** When the next change of a partition may begin, in ms. */
  const next = new Map<string, number>();
  return {
    set(value: PartitionLimit | undefined) {
      limit = value;
      next.clear();
    },
    /** Waits until the partitions of a transaction take its changes. */
    async awaitTurn({ operation, body }: WireRequest): Promise<void> {
      if (limit === undefined || operation !== "TransactWriteItems") return;
      const { attribute, perSecond } = limit;
      const now = performance.now();
      let turn = now;
      for (const { Item } of actionsOf(parse<TransactionRequest>(body))) {
        const { S: partition } = (Item?.[attribute] ?? {}) as { readonly S?: string };
        if (partition === undefined) continue;
        const start = Math.max(now, next.get(partition) ?? 0);
        next.set(partition, start + 1_000 / perSecond);
        turn = Math.max(turn, start);
      }
      if (turn > now) await sleep(turn - now, undefined, { signal: stopping });
    },
  };
}
