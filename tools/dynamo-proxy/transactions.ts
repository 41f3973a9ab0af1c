/**
 * Adds to transactions what DynamoDB Local leaves out: requests that meet an item of a transaction
 * under way are refused, and with isolation plain reads see its items change one by one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { readAround } from "./before-images.ts";
import { applyItems, createDelays, hideItems, type Isolation } from "./isolation.ts";
import { createItemLocks, createTokens } from "./locks.ts";
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
} from "./wire.ts";

const PLAIN_READS = ["GetItem", "BatchGetItem", "Query", "Scan"];
const ITEM_WRITES = ["PutItem", "UpdateItem", "DeleteItem"];
const STATEMENTS = ["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"];

type Options = {
  readonly upstream: Upstream;
  /** Sends a request on to the store. */
  readonly forward: (req: WireRequest) => Promise<Outcome>;
  /** Called for each request that is refused because one of its items was locked. */
  readonly onConflict: () => void;
  /** Seed of the delays. */
  readonly seed: number;
  /** Ends the delays of requests under way. */
  readonly stopping: AbortSignal;
};

export type Transactions = ReturnType<typeof createTransactions>;

/** Nothing is locked until `lock` or `isolation` is called. */
export function createTransactions(options: Options) {
  const locks = createItemLocks();
  const tokens = createTokens();
  const delays = createDelays(options.seed);
  let lockMs = 0;
  const context: ServeContext = {
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
      return lockMs > 0 || context.isIsolating;
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
        const outcome = await transact(transaction, req, context);
        isCommitted = outcome.forwarded && outcome.answer.status === 200;
        return outcome;
      } finally {
        tokens.end(token, isCommitted);
      }
    },
    /** Serves every other request. */
    serve: (req: WireRequest): Promise<Outcome> => serve(req, context),
  };
}

type ServeContext = Options & {
  readonly locks: ReturnType<typeof createItemLocks>;
  readonly delays: ReturnType<typeof createDelays>;
  /** How long items are locked before the transaction is sent. */
  readonly lockMs: number;
  /** True until the last hidden item is visible, even if the isolation is off again. */
  readonly isIsolating: boolean;
};

const isLocking = (context: ServeContext): boolean => context.lockMs > 0 || context.isIsolating;

function refused(answer: Answer, context: ServeContext): Outcome {
  context.onConflict();
  return made(answer);
}

/** Locks the items of a transaction and sends it, or answers which of them are locked. */
async function transact(
  transaction: TransactionRequest,
  req: WireRequest,
  context: ServeContext,
): Promise<Outcome> {
  const { upstream, locks, lockMs, stopping: signal } = context;
  const actions = actionsOf(transaction);
  const delays = context.delays.next(actions.length);
  if (!isLocking(context)) return context.forward(req);
  const keys = await upstream.itemKeys(actions, req.rawHeaders);
  const conflicts = locks.conflicts(keys);
  if (conflicts.includes(true)) return refused(conflictAnswer(conflicts), context);
  const lease = locks.take(keys);
  try {
    if (lockMs > 0) await sleep(lockMs, undefined, { signal });
    if (delays === undefined) return await context.forward(req);
    await hideItems(transaction, req, keys, lease, upstream);
    const outcome = await context.forward(req);
    if (outcome.answer.status === 200) await applyItems(keys, delays, lease, signal);
    return outcome;
  } finally {
    lease.end();
  }
}

async function serve(req: WireRequest, context: ServeContext): Promise<Outcome> {
  const { operation, body } = req;
  if (!isLocking(context)) return context.forward(req);
  if (operation === "TransactGetItems") return transactGet(req, context);
  if (ITEM_WRITES.includes(operation)) {
    return writeLocked(req, context, [parse<ItemRequest>(body)], itemConflictAnswer);
  }
  if (!context.isIsolating) return context.forward(req);
  if (operation === "BatchWriteItem") {
    const batch = parse<BatchWriteRequest>(body);
    return writeLocked(req, context, writesOf(batch), () => unprocessedAnswer(batch));
  }
  if (STATEMENTS.includes(operation)) throw new UnsupportedRequest(operation);
  return PLAIN_READS.includes(operation) ? readAround(req, context) : context.forward(req);
}

/**
 * Refuses writes without a transaction when one of their items is locked. With isolation they lock
 * their items too, so that no transaction reads a before-image that they are about to change.
 */
async function writeLocked(
  req: WireRequest,
  context: ServeContext,
  writes: readonly ItemRequest[],
  conflictAnswer: () => Answer,
): Promise<Outcome> {
  const keys = await context.upstream.itemKeys(writes, req.rawHeaders);
  if (context.locks.conflicts(keys).includes(true)) return refused(conflictAnswer(), context);
  if (!context.isIsolating) return context.forward(req);
  const lease = context.locks.take(keys);
  try {
    return await context.forward(req);
  } finally {
    lease.end();
  }
}

/**
 * Refuses a TransactGetItems when one of its items is locked. With isolation also when an item is
 * locked after the answer, because the answer may have a transaction that is still being applied.
 */
async function transactGet(req: WireRequest, context: ServeContext): Promise<Outcome> {
  const actions = actionsOf(parse<TransactionRequest>(req.body));
  const keys = await context.upstream.itemKeys(actions, req.rawHeaders);
  const before = context.locks.conflicts(keys);
  if (before.includes(true)) return refused(conflictAnswer(before), context);
  const outcome = await context.forward(req);
  const after = context.locks.conflicts(keys);
  if (!context.isIsolating || !after.includes(true)) return outcome;
  return { ...refused(conflictAnswer(after), context), forwarded: true };
}
