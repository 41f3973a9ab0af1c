/**
 * What DynamoDB Local leaves out of transactions: requests that meet an item of a transaction under
 * way are refused, and with isolation plain reads see its items change one by one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { readAround } from "./dynamo-before-images.ts";
import { applyItems, createDelays, hideItems, type Isolation } from "./dynamo-isolation.ts";
import { createItemLocks, createTokens } from "./dynamo-locks.ts";
import {
  type Answer,
  actionsOf,
  type BatchWriteRequest,
  conflictAnswer,
  type ItemRequest,
  itemConflictAnswer,
  made,
  type Outcome,
  parse,
  type TransactionRequest,
  UnsupportedRequest,
  type Upstream,
  unprocessedAnswer,
  type WireRequest,
  writesOf,
} from "./dynamo-wire.ts";

const PLAIN_READS = ["GetItem", "BatchGetItem", "Query", "Scan"];
const ITEM_WRITES = ["PutItem", "UpdateItem", "DeleteItem"];
const STATEMENTS = ["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"];

type Options = {
  readonly upstream: Upstream;
  /** Sends a request on to the store. */
  readonly forward: (req: WireRequest) => Promise<Outcome>;
  /** Called for each request that is refused because an item of its was locked. */
  readonly onConflict: () => void;
  /** Seed of the delays. */
  readonly seed: number;
  /** Ends the waiting of requests under way. */
  readonly stopping: AbortSignal;
};

export type Transactions = ReturnType<typeof createTransactions>;

/** Nothing is locked until `lock` or `isolation` is called. */
export function createTransactions(options: Options) {
  const locks = createItemLocks();
  const tokens = createTokens();
  const delays = createDelays(options.seed);
  let lockMs = 0;
  const site: Site = {
    ...options,
    locks,
    delays,
    get lockMs() {
      return lockMs;
    },
    get isIsolating() {
      return delays.active || locks.isHiding;
    },
  };
  return {
    get active() {
      return lockMs > 0 || site.isIsolating;
    },
    lock(ms: number): void {
      lockMs = ms;
    },
    isolation(isolation: Isolation | undefined): void {
      delays.set(isolation);
    },
    tokenState: tokens.stateOf,
    /** Runs a TransactWriteItems under its token. */
    async transact(transaction: TransactionRequest, req: WireRequest): Promise<Outcome> {
      const { ClientRequestToken: token } = transaction;
      tokens.begin(token);
      let isCommitted = false;
      try {
        const outcome = await transact(transaction, req, site);
        isCommitted = outcome.forwarded && outcome.answer.status === 200;
        return outcome;
      } finally {
        tokens.end(token, isCommitted);
      }
    },
    /** Serves every other request. */
    serve: (req: WireRequest): Promise<Outcome> => serve(req, site),
  };
}

type Site = Options & {
  readonly locks: ReturnType<typeof createItemLocks>;
  readonly delays: ReturnType<typeof createDelays>;
  /** How long items are locked before the transaction is sent; 0: no longer than it takes. */
  readonly lockMs: number;
  /** True until the last hidden item is visible, even if the mode is off again. */
  readonly isIsolating: boolean;
};

const isLocking = (site: Site): boolean => site.lockMs > 0 || site.isIsolating;

function refused(answer: Answer, site: Site): Outcome {
  site.onConflict();
  return made(answer);
}

/** Sends a transaction with its items locked, or answers which of them are taken. */
async function transact(
  transaction: TransactionRequest,
  req: WireRequest,
  site: Site,
): Promise<Outcome> {
  const { upstream, locks, lockMs, stopping: signal } = site;
  const actions = actionsOf(transaction);
  const delays = site.delays.next(actions.length);
  if (!isLocking(site)) return site.forward(req);
  const keys = await upstream.itemKeys(actions, req.rawHeaders);
  const conflicts = locks.conflicts(keys);
  if (conflicts.includes(true)) return refused(conflictAnswer(conflicts), site);
  const lease = locks.take(keys);
  try {
    if (lockMs > 0) await sleep(lockMs, undefined, { signal });
    if (delays === undefined) return await site.forward(req);
    await hideItems(transaction, req, keys, lease, upstream);
    const outcome = await site.forward(req);
    if (outcome.answer.status === 200) await applyItems(keys, delays, lease, signal);
    return outcome;
  } finally {
    lease.end();
  }
}

async function serve(req: WireRequest, site: Site): Promise<Outcome> {
  const { operation, body } = req;
  if (!isLocking(site)) return site.forward(req);
  if (operation === "TransactGetItems") return transactGet(req, site);
  if (ITEM_WRITES.includes(operation)) {
    return writeLocked(req, site, [parse<ItemRequest>(body)], itemConflictAnswer);
  }
  if (!site.isIsolating) return site.forward(req);
  if (operation === "BatchWriteItem") {
    const batch = parse<BatchWriteRequest>(body);
    return writeLocked(req, site, writesOf(batch), () => unprocessedAnswer(batch));
  }
  if (STATEMENTS.includes(operation)) throw new UnsupportedRequest(operation);
  return PLAIN_READS.includes(operation) ? readAround(req, site) : site.forward(req);
}

/**
 * Writes that are no transaction lose against one that holds an item of theirs. With isolation they
 * lock their items too: no transaction may take a before-image that they are about to change.
 */
async function writeLocked(
  req: WireRequest,
  site: Site,
  writes: readonly ItemRequest[],
  conflictAnswer: () => Answer,
): Promise<Outcome> {
  const keys = await site.upstream.itemKeys(writes, req.rawHeaders);
  if (site.locks.conflicts(keys).includes(true)) return refused(conflictAnswer(), site);
  if (!site.isIsolating) return site.forward(req);
  const lease = site.locks.take(keys);
  try {
    return await site.forward(req);
  } finally {
    lease.end();
  }
}

/**
 * TransactGetItems is whole or refused. With isolation it is also refused if an item is locked when
 * the store has answered: the store may have shown a transaction that is still being applied.
 */
async function transactGet(req: WireRequest, site: Site): Promise<Outcome> {
  const actions = actionsOf(parse<TransactionRequest>(req.body));
  const keys = await site.upstream.itemKeys(actions, req.rawHeaders);
  const before = site.locks.conflicts(keys);
  if (before.includes(true)) return refused(conflictAnswer(before), site);
  const outcome = await site.forward(req);
  const after = site.locks.conflicts(keys);
  if (!site.isIsolating || !after.includes(true)) return outcome;
  return { ...refused(conflictAnswer(after), site), forwarded: true };
}
