/**
 * The isolation that AWS documents, in front of DynamoDB Local, which applies transactions at one
 * moment: the store commits a transaction at once, but its items become visible one by one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../../test/support/models/random.ts";
import type { Lease } from "./locks.ts";
import {
  type AttributeMap,
  actionsOf,
  parse,
  type TransactionRequest,
  type Upstream,
  type WireRequest,
} from "./wire.ts";

/** How long the items of a committed transaction stay hidden; each has its own delay. */
export type Isolation = {
  /** Shortest and longest time in milliseconds. */
  readonly applyMs: readonly [number, number];
  /** Share of the items, from 0 to 1, that take `slowMs` instead; 0 when left out. */
  readonly slowShare?: number;
  readonly slowMs?: number;
};

/** The isolation of most tests: a few ms from item to item, and some items much later. */
export const itemByItem: Isolation = { applyMs: [0, 8], slowShare: 0.15, slowMs: 50 };

/** Draws the delays. Each transaction has its own seed, so that it does not change later ones. */
export function createDelays(seed: number) {
  const seeds = randomFrom(seed);
  let isolation: Isolation | undefined;
  return {
    get active() {
      return isolation !== undefined;
    },
    set(next: Isolation | undefined): void {
      isolation = next;
    },
    /** Milliseconds for each of `count` items; undefined when the mode is off. */
    next(count: number): number[] | undefined {
      if (isolation === undefined) return undefined;
      const { applyMs, slowShare = 0, slowMs = 0 } = isolation;
      const [shortest, longest] = applyMs;
      const random = randomFrom(seeds() * 2 ** 32);
      return Array.from({ length: count }, () => {
        const isSlow = random() < slowShare;
        const applied = shortest + random() * (longest - shortest);
        return isSlow ? slowMs : applied;
      });
    },
  };
}

/**
 * Hides the locked items of a transaction behind their current values, which changes no read until
 * the transaction commits. Does nothing when the store refuses to read them, because it refuses the
 * transaction as well.
 */
export async function hideItems(
  transaction: TransactionRequest,
  req: WireRequest,
  keys: readonly (string | undefined)[],
  lease: Lease,
  upstream: Upstream,
): Promise<void> {
  const actions = actionsOf(transaction);
  const schemas = await Promise.all(
    actions.map(({ TableName }) => upstream.schemaOf(TableName, req.rawHeaders)),
  );
  const TransactItems = actions.map(({ TableName, Key, Item }, i) => {
    const attributes = Key ?? Item ?? {};
    const names = schemas[i]?.keys ?? [];
    const key = Object.fromEntries(names.map((name) => [name, attributes[name]]));
    return { Get: { TableName, Key: key } };
  });
  const answer = await upstream.ask("TransactGetItems", { TransactItems }, req.rawHeaders);
  if (answer.status !== 200) return;
  type Found = { readonly Responses: readonly { readonly Item?: AttributeMap }[] };
  const { Responses } = parse<Found>(answer.body);
  for (const [i, key] of keys.entries()) {
    if (key === undefined) continue;
    const table = actions[i]?.TableName ?? "";
    const isDeleted = transaction.TransactItems?.[i]?.Delete !== undefined;
    lease.hide(key, { table, item: Responses[i]?.Item, isDeleted });
  }
}

/** Unlocks each item after its own delay, which makes it visible; ends with the last one. */
export async function applyItems(
  keys: readonly (string | undefined)[],
  delays: readonly number[],
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const apply = async (key: string | undefined, i: number) => {
    await sleep(delays[i], undefined, { signal });
    if (key !== undefined) lease.release(key);
  };
  await Promise.all(keys.map(apply));
}
