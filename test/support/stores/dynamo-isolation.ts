/**
 * The isolation that AWS documents, in front of DynamoDB Local, which shows transactions whole: a
 * transaction is decided by the store at once, but its items become visible one by one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../models/random.ts";
import type { Lease } from "./dynamo-locks.ts";
import {
  type AttributeMap,
  actionsOf,
  parse,
  type TransactionRequest,
  type Upstream,
  type WireRequest,
} from "./dynamo-wire.ts";

/** How long the items of a committed transaction stay hidden, each for a time of its own. */
export type Isolation = {
  /** Shortest and longest time in milliseconds. */
  readonly applyMs: readonly [number, number];
  /** Share of the items, from 0 to 1, that take `slowMs` instead; 0 when left out. */
  readonly slowShare?: number;
  readonly slowMs?: number;
};

/** What most tests run in: a few ms from item to item, and some that take much longer. */
export const itemByItem: Isolation = { applyMs: [0, 8], slowShare: 0.15, slowMs: 50 };

/** Draws the delays. Each transaction takes one number, the seed of its own sequence. */
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
 * Hides the items of a transaction, which has locked them, behind what the store has now: until it
 * commits, that makes no difference. Does nothing where the store refuses to read them, since it
 * will refuse the transaction as well.
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

/** Makes the items visible and frees them, each after its own delay; ends with the last one. */
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
