/**
 * A fault proxy between an SDK client and DynamoDB Local: it loses answers, injects conflicts,
 * throttling, errors and delays, and adds the item locks and the isolation of transactions, which
 * DynamoDB Local does not have. With everything off it forwards the bytes unchanged and counts.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../../test/support/models/random.ts";
import { createHeldWrites, type HeldWrites } from "./held-writes.ts";
import type { Isolation } from "./isolation.ts";
import { createTransactions, type Transactions } from "./transactions.ts";
import {
  type Answer,
  actionsOf,
  conflictAnswer,
  createUpstream,
  inProgressAnswer,
  made,
  type Outcome,
  operationOf,
  parse,
  parseValues,
  readAll,
  refusedAnswer,
  send,
  sendHalf,
  serverErrorAnswer,
  type TransactionRequest,
  throttleAnswer,
  throttledTransactionAnswer,
  UnsupportedRequest,
  type Upstream,
  unsupportedAnswer,
  type WireRequest,
} from "./wire.ts";

const READS = ["GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"];
const ITEM_WRITES = ["PutItem", "UpdateItem", "DeleteItem"];
const WRITES = ["TransactWriteItems", "BatchWriteItem", ...ITEM_WRITES];

/** Faults that exclude each other, in the order in which they are drawn. */
export const FAULT_KINDS = ["lostAnswer", "conflict", "throttle", "serverError"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Probabilities from 0 to 1; the four kinds exclude each other, so their sum is at most 1. */
export type FaultPlan = {
  /** The request takes effect, its answer never arrives: the result is ambiguous. */
  readonly lostAnswer?: number;
  /** TransactWriteItems only: cancelled with TransactionConflict on one item or more. */
  readonly conflict?: number;
  /** ProvisionedThroughputExceededException, or one of the errors of a throttled transaction. */
  readonly throttle?: number;
  /** 500 InternalServerError; half of these requests take effect. */
  readonly serverError?: number;
  /** The request reaches the store late, by `delayMs`; in addition to the other faults. */
  readonly delay?: number;
  /** Shortest and longest delay in milliseconds; 5 to 50 when left out. */
  readonly delayMs?: readonly [number, number];
  /** How an answer gets lost: the connection breaks (default) or is silent, or half of it comes. */
  readonly lostBy?: "destroy" | "silence" | "stall";
  /** Operations to which the plan applies. Requests that manage tables have to be named. */
  readonly operations?: "all" | "reads" | "writes" | readonly string[];
};

export type ProxyStats = {
  /** Requests received, by operation. */
  readonly requests: Readonly<Record<string, number>>;
  /** Requests sent on to the store, by operation. */
  readonly forwarded: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<FaultKind | "delay", number>>;
  /** Requests refused because one of their items was locked. */
  readonly lockConflicts: number;
  /** Transactions resent while their first attempt was under way. */
  readonly inProgress: number;
  /** Connections and requests refused while down. */
  readonly refused: number;
  /** Requests whose connection the store broke; the client's connection is destroyed too. */
  readonly upstreamErrors: number;
  /** Requests received whose answer is not sent, or lost, yet. */
  readonly underWay: number;
};

/** One answered request, parsed. `forwarded` is false when the proxy itself has answered. */
export type CapturedRequest = {
  readonly operation: string;
  readonly request: unknown;
  readonly status: number;
  readonly response: unknown;
  readonly forwarded: boolean;
};

export type DynamoProxy = {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  /** A snapshot of the counters. */
  stats(): ProxyStats;
  resetStats(): void;
  /** Replaces the plan; `{}` ends all faults. The random sequence continues. */
  faults(plan: FaultPlan): void;
  /**
   * Every TransactWriteItems locks its items for `ms` milliseconds and then until the store has
   * answered; requests that meet a locked item are refused as on AWS. Reads other than
   * TransactGetItems pass, BatchWriteItem too. 0 switches it off. Assumes one key schema per
   * table name, so one account and region per proxy.
   */
  lock(ms: number): void;
  /**
   * AWS's isolation; undefined switches it off. A transaction that the store has committed is
   * applied item by item: until then an item is locked, and GetItem, BatchGetItem, Query and Scan
   * return it as it was before. The writer gets its answer when all items are applied. Works
   * together with `lock`. Only writes through this proxy are hidden. Reads with expressions other
   * than this project's are answered with 500 UnsupportedByProxy. The n-th transaction always
   * draws the same delays.
   */
  isolation(isolation: Isolation | undefined): void;
  /**
   * Refuses requests with this error of AWS, all of them or those of some operations; undefined
   * serves them again.
   */
  refuse(code: string | undefined, operations?: FaultPlan["operations"]): void;
  /** While down every connection is destroyed; requests on their way to the store arrive there. */
  down(isDown: boolean): void;
  /**
   * Holds the writes that arrive from now on, as a cut network does. The function that it returns
   * lets them arrive at the store, as if `passedMs` had passed besides: with a signature older than
   * 15 minutes a request is refused, as by AWS.
   */
  holdWrites(): (passedMs: number) => void;
  /** Sets the Date header of every answer to now + ms; undefined keeps the store's. */
  dateSkew(ms: number | undefined): void;
  /** Called with every request before it is served. */
  onRequest(hook: ((operation: string, body: Buffer) => void) | undefined): void;
  /** Starts or stops the recording of requests and answers; a start deletes earlier ones. */
  capture(on: boolean): void;
  /** The recorded requests in the order of their answers, lost answers included. */
  captured(): CapturedRequest[];
  stop(): Promise<void>;
};

/**
 * Starts a proxy on a free port of 127.0.0.1.
 *
 * @param options.upstream URL of DynamoDB Local.
 * @param options.seed of the faults: the n-th request to which a plan applies always draws the same
 *   numbers, whatever the earlier ones have drawn. 1 when left out.
 */
export async function startDynamoProxy(options: {
  upstream: string;
  seed?: number;
}): Promise<DynamoProxy> {
  const upstream = createUpstream(options.upstream);
  const counters = createCounters();
  const faults = createFaults(options.seed ?? 1);
  const recorder = createRecorder();
  const stopping = new AbortController();
  const forward = (req: WireRequest) => forwardTo(upstream, counters, req);
  const transactions = createTransactions({
    upstream,
    forward,
    onConflict: () => counters.bump("lockConflicts"),
    seed: options.seed ?? 1,
    stopping: stopping.signal,
  });
  const held = createHeldWrites(WRITES);
  const context = { counters, faults, transactions, held, forward, stopping: stopping.signal };
  let isDown = false;
  let underWay = 0;
  let skewMs: number | undefined;
  let hook: ((operation: string, body: Buffer) => void) | undefined;

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readAll(req);
    const operation = operationOf(req);
    counters.add("requests", operation);
    hook?.(operation, body);
    const request = { operation, rawHeaders: req.rawHeaders, body };
    const outcome = await answerRequest(request, context).catch(refuseUnsupported);
    recorder.keep(operation, body, outcome);
    if (outcome.lost === "silence") return;
    if (outcome.lost === "stall") return sendHalf(res, outcome.answer);
    if (outcome.lost === "destroy") res.destroy();
    else if (!res.destroyed) send(res, outcome.answer, skewMs);
  }

  const server = createServer((req, res) => {
    underWay += 1;
    serve(req, res)
      .catch(() => res.destroy())
      .finally(() => {
        underWay -= 1;
      });
  });
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  server.on("connection", (socket) => {
    if (!isDown) return;
    counters.bump("refused");
    socket.destroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");

  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stats: () => ({ ...counters.snapshot(), underWay }),
    resetStats: counters.reset,
    faults: faults.set,
    lock: transactions.lock,
    isolation: transactions.isolation,
    refuse: faults.refuse,
    down(value) {
      isDown = value;
      if (value) server.closeAllConnections();
    },
    holdWrites: held.hold,
    dateSkew(ms) {
      skewMs = ms;
    },
    onRequest(value) {
      hook = value;
    },
    capture: recorder.set,
    captured: recorder.captured,
    async stop() {
      stopping.abort();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      upstream.close();
    },
  };
}

type Context = {
  readonly counters: Counters;
  readonly faults: Faults;
  readonly transactions: Transactions;
  readonly held: HeldWrites;
  readonly forward: (req: WireRequest) => Promise<Outcome>;
  readonly stopping: AbortSignal;
};

/** Serves one request: when it arrives, its fault first, then the locks, then the store. */
async function answerRequest(req: WireRequest, context: Context): Promise<Outcome> {
  const { counters, faults, transactions, held, forward, stopping } = context;
  const refused = (await held.pass(req)) ?? faults.refusal(req.operation);
  if (refused) return made(refused);
  if (!faults.active && !transactions.active) return forward(req);
  const fault = faults.next(req.operation);
  if (fault.delayMs > 0) {
    counters.fault("delay");
    await sleep(fault.delayMs, undefined, { signal: stopping });
  }
  const transaction =
    req.operation === "TransactWriteItems" ? parse<TransactionRequest>(req.body) : undefined;
  const token = transaction?.ClientRequestToken;
  const sent = transactions.tokenState(token);
  if (sent === "pending") {
    counters.bump("inProgress");
    return made(inProgressAnswer());
  }
  const injected = faultAnswer(fault, transaction, sent === "committed");
  if (injected !== undefined) {
    counters.fault(fault.kind);
    return made(injected);
  }
  // The store answers a committed transaction from its token, even if its items are locked.
  const outcome =
    transaction === undefined || sent === "committed"
      ? await transactions.serve(req)
      : await transactions.transact(transaction, req);
  if (!outcome.forwarded || fault.kind === undefined) return outcome;
  if (fault.kind === "serverError") {
    counters.fault("serverError");
    return { answer: serverErrorAnswer(), forwarded: true };
  }
  if (fault.kind !== "lostAnswer") return outcome;
  counters.fault("lostAnswer");
  return { ...outcome, lost: faults.lostBy };
}

function refuseUnsupported(error: unknown): Outcome {
  if (error instanceof UnsupportedRequest) return made(unsupportedAnswer(error));
  throw error;
}

async function forwardTo(upstream: Upstream, counters: Counters, req: WireRequest) {
  counters.add("forwarded", req.operation);
  try {
    return { answer: await upstream.send(req), forwarded: true };
  } catch (error) {
    counters.bump("upstreamErrors");
    throw error;
  }
}

/** The answer to a request that does not reach the store; undefined when it does. */
function faultAnswer(
  { kind, random }: Fault,
  transaction: TransactionRequest | undefined,
  isCommitted: boolean,
): Answer | undefined {
  if (kind === "serverError") return random() < 0.5 ? serverErrorAnswer() : undefined;
  if (kind === "conflict" && transaction !== undefined && !isCommitted) {
    return conflictAnswer(someOf(actionsOf(transaction).length, random));
  }
  if (kind !== "throttle") return undefined;
  if (transaction === undefined) return throttleAnswer("ProvisionedThroughputExceededException");
  // A committed transaction can be throttled as a request, but it is no longer cancelled.
  if (isCommitted || random() < 1 / 3) return throttleAnswer("ThrottlingException");
  return throttledTransactionAnswer(someOf(actionsOf(transaction).length, random), random);
}

/** One index or more out of `length`. */
function someOf(length: number, random: () => number): boolean[] {
  const always = Math.floor(random() * length);
  return Array.from({ length }, (_, i) => i === always || random() < 0.25);
}

type Fault = {
  readonly kind: FaultKind | undefined;
  readonly delayMs: number;
  /** Random numbers for the details, in a sequence of this request alone. */
  readonly random: () => number;
};

type Faults = ReturnType<typeof createFaults>;

/** Draws faults. Each request has its own seed, so that it does not change later ones. */
function createFaults(seed: number) {
  const seeds = randomFrom(seed);
  let plan: FaultPlan = {};
  let operations = new Set<string>();
  let active = false;
  let refused: { readonly code: string; readonly operations: readonly string[] } | undefined;

  return {
    refuse(code: string | undefined, which: FaultPlan["operations"] = "all"): void {
      refused = code === undefined ? undefined : { code, operations: operationsOf(which) };
    },
    refusal: (operation: string): Answer | undefined =>
      refused?.operations.includes(operation) ? refusedAnswer(refused.code) : undefined,
    get active() {
      return active;
    },
    get lostBy() {
      return plan.lostBy ?? "destroy";
    },
    set(next: FaultPlan): void {
      const sum = FAULT_KINDS.reduce((total, kind) => total + (next[kind] ?? 0), 0);
      if (sum > 1 + 1e-9) throw new RangeError(`fault probabilities sum up to ${sum}`);
      plan = next;
      operations = new Set(operationsOf(next.operations ?? "all"));
      active = sum > 0 || (next.delay ?? 0) > 0;
    },
    next(operation: string): Fault {
      if (!active || !operations.has(operation)) {
        return { kind: undefined, delayMs: 0, random: () => 0 };
      }
      const random = randomFrom(seeds() * 2 ** 32);
      const kind = pick(random(), plan);
      const isDelayed = random() < (plan.delay ?? 0);
      const [shortest, longest] = plan.delayMs ?? [5, 50];
      const delayMs = shortest + random() * (longest - shortest);
      return { kind, delayMs: isDelayed ? delayMs : 0, random };
    },
  };
}

function operationsOf(which: NonNullable<FaultPlan["operations"]>): readonly string[] {
  if (which === "all") return [...READS, ...WRITES];
  if (which === "reads") return READS;
  return which === "writes" ? WRITES : which;
}

/** The kind of fault whose part of [0, 1) contains `drawn`. */
function pick(drawn: number, plan: FaultPlan): FaultKind | undefined {
  let upTo = 0;
  return FAULT_KINDS.find((kind) => {
    upTo += plan[kind] ?? 0;
    return drawn < upTo;
  });
}

type Counters = ReturnType<typeof createCounters>;

function createCounters() {
  const zero = () => ({
    requests: {} as Record<string, number>,
    forwarded: {} as Record<string, number>,
    faults: { lostAnswer: 0, conflict: 0, throttle: 0, serverError: 0, delay: 0 },
    lockConflicts: 0,
    inProgress: 0,
    refused: 0,
    upstreamErrors: 0,
  });
  let counts = zero();
  return {
    add(what: "requests" | "forwarded", operation: string): void {
      counts[what][operation] = (counts[what][operation] ?? 0) + 1;
    },
    fault(kind: FaultKind | "delay" | undefined): void {
      if (kind !== undefined) counts.faults[kind] += 1;
    },
    bump(what: "lockConflicts" | "inProgress" | "refused" | "upstreamErrors"): void {
      counts[what] += 1;
    },
    snapshot: () => structuredClone(counts),
    reset(): void {
      counts = zero();
    },
  };
}

/** Records the bytes while requests are served, and parses them afterwards. */
function createRecorder() {
  let on = false;
  let kept: { operation: string; body: Buffer; outcome: Outcome }[] = [];
  return {
    set(value: boolean): void {
      if (value && !on) kept = [];
      on = value;
    },
    keep(operation: string, body: Buffer, outcome: Outcome): void {
      if (on) kept.push({ operation, body, outcome });
    },
    captured: (): CapturedRequest[] =>
      kept.map(({ operation, body, outcome: { answer, forwarded } }) => ({
        operation,
        request: parseValues(body),
        status: answer.status,
        response: parseValues(answer.body),
        forwarded,
      })),
  };
}
