/** The DynamoDB clients of a process, and what their errors mean. */
import { Agent } from "node:http";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type { ClockSkew } from "../../ports/clock.ts";
import { readClocks } from "../../ports/clock-reading.ts";
import { requestMs } from "../../ports/engine.ts";
import type { StoreRefusal } from "../../ports/store-refusals.ts";
import type { StoreTallies } from "../../ports/tallies.ts";
import { DomainError } from "../../words/errors.ts";
import type { Milliseconds } from "../../words/units.ts";
import { createSkewEstimator, type SkewEstimator } from "./clock-skew.ts";
import { connectionLimits, createConnections } from "./connections.ts";
import { isTransient, type RequestError } from "./failures.ts";
import { refuseLateWrites } from "./late-writes.ts";
import { createRefusals } from "./refusals.ts";
import { countRequests, createStoreTallies } from "./request-counts.ts";
import { throttleErrors } from "./requests.ts";
import { useThinTransport } from "./thin-transport.ts";
import { createThrottleCounts, type HotKeys } from "./throttle-counts.ts";
import { traceRequests } from "./trace-requests.ts";

/** The address of DynamoDB, and the transport for the requests of hot paths. */
interface DynamoConfig {
  /** Undefined: AWS in this region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Thin by default. */
  readonly transport?: "thin" | "sdk";
  /** Whose records a partition has. Without it, nothing throttled is sampled. */
  readonly hotKeys?: HotKeys;
}

/** The clients of one process, which share a pool of connections. */
export interface Clients extends ClockSkew {
  /** Retries transient errors, as the SDK does by default. */
  readonly retrying: DynamoDBClient;
  /** Sends once, because the commit engine handles the result of each attempt itself. */
  readonly single: DynamoDBClient;
  /** For how long requests of one operation have waited while none of it was answered, in ms. */
  silenceMs(): Milliseconds;
  /** The same with attempts that have just ended without an answer, such as by a refusal. */
  unansweredMs(): Milliseconds;
  /** What the store has refused within the last minute and not served since. */
  refusals(): readonly StoreRefusal[];
  readonly tallies: StoreTallies;
  close(): void;
}

/**
 * Whether the endpoint is on this machine, as DynamoDB Local is, which accepts any credentials.
 * Others, such as AWS's endpoints for a VPC or FIPS, get those of the SDK's own chain.
 */
export function usesLocalCredentials(endpoint: string | undefined): boolean {
  const host = endpoint === undefined ? "" : new URL(endpoint).hostname;
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);
}

const noKeys: HotKeys = { targetOf: () => undefined, accountOf: () => undefined };

export function createClients(config: DynamoConfig): Clients {
  const { endpoint, region, transport = "thin", hotKeys = noKeys } = config;
  const options: DynamoDBClientConfig = {
    region,
    // Resolves the middleware once per kind of command, not once per request. Concurrent requests
    // then share its context, which is the same for all requests of one client.
    cacheMiddleware: true,
    requestHandler: transport === "thin" ? createConnections() : connectionsOfSdk(endpoint),
    ...(endpoint && { endpoint }),
    ...(usesLocalCredentials(endpoint) && {
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    }),
  };
  const retrying = new DynamoDBClient(options);
  const single = new DynamoDBClient({
    ...options,
    requestHandler: retrying.config.requestHandler,
    maxAttempts: 1,
  });
  const skew = createSkewEstimator(readClocks);
  const attempts = new Map<string, Attempts>();
  const tallies = createStoreTallies();
  const countThrottles = createThrottleCounts(tallies, hotKeys);
  const refusals = createRefusals(tallies);
  for (const client of [retrying, single]) {
    removeMiddleware(client);
    observeSkew(client, skew);
    observeAttempts(client, attempts);
    countRequests(client, tallies, countThrottles);
    traceRequests(client);
    refuseLateWrites(client);
    refusals.watch(client);
    if (transport === "thin") useThinTransport(client, { retries: client === retrying });
  }
  return {
    retrying,
    single,
    skewMs: skew.skewMs,
    offsetMs: skew.offsetMs,
    tallies,
    refusals: refusals.latest,
    silenceMs: () => Math.max(0, ...[...attempts.values()].map(silenceOf)),
    unansweredMs: () => Math.max(0, ...[...attempts.values()].map(unansweredOf)),
    close: () => {
      retrying.destroy();
      single.destroy();
    },
  };
}

/** The SDK's own connections, by `node:http`, with the limits of the thin transport's. */
const connectionsOfSdk = (endpoint: string | undefined) => ({
  connectionTimeout: connectionLimits.connectMs,
  requestTimeout: requestMs,
  throwOnRequestTimeout: true,
  // The request timeout ends with the headers; this one also covers a body that stalls.
  socketTimeout: requestMs,
  ...(endpoint?.startsWith("http:") && {
    httpAgent: new Agent({ keepAlive: true, maxSockets: connectionLimits.count }),
  }),
  httpsAgent: { keepAlive: true, maxSockets: connectionLimits.count },
});

/** Middleware of the SDK without use here; together it takes a fourth of a request's CPU. */
const needless: readonly string[] = [
  // Copies input and output, attribute by attribute, for a logger that is not configured.
  "loggerMiddleware",
  // Builds two headers for each request, and one of them has to be signed.
  "getUserAgentMiddleware",
  // Adds the trace header of a Lambda function.
  "recursionDetectionMiddleware",
];

/** Removes needless middleware. Throws if a new version of the SDK has renamed one. */
function removeMiddleware(client: DynamoDBClient): void {
  for (const name of needless) {
    if (!client.middlewareStack.remove(name)) throw new Error(`the SDK has no ${name}`);
  }
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      headers["user-agent"] = "meguri";
      return next(args);
    },
    { step: "finalizeRequest", name: "meguriUserAgent", priority: "low" },
  );
}

/** Compares the Date header of each response, cut to a second, with the local clocks. */
function observeSkew(client: DynamoDBClient, skew: SkewEstimator): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const sent = readClocks();
      const result = await next(args);
      const received = readClocks();
      const headers = (result.response as { headers?: Record<string, string> }).headers;
      const date = Date.parse(headers?.date ?? "");
      if (Number.isFinite(date)) skew.observe(date, sent, received);
      return result;
    },
    { step: "deserialize", name: "meguriClockSkew", priority: "low" },
  );
}

/** Which attempts of an operation are under way, the oldest first, and when one was answered. */
interface Attempts {
  readonly waiting: Set<{ readonly sent: number }>;
  answered: number;
  /** The attempts that have ended without an answer, one after another. */
  lost: { readonly since: number; readonly until: number } | undefined;
}

/** An attempt that was lost counts for this time, in which the store is tried again. */
const lostMs = 10_000;

/** Attempts that are lost with a longer pause in between are two outages. */
const maxPauseMs = 60_000;

/**
 * For how long attempts have waited while none was answered, in ms. An attempt that is sent soon
 * after lost ones goes on with their silence: alone it ends sooner than most limits of a silence.
 */
function silenceOf({ waiting, answered, lost }: Attempts): number {
  const [oldest] = waiting;
  if (!oldest) return 0;
  const goesOn = lost && answered < lost.until && oldest.sent - lost.until < lostMs;
  const since = goesOn ? Math.min(lost.since, oldest.sent) : oldest.sent;
  return performance.now() - Math.max(since, answered);
}

/** For how long no attempt was answered, if one waits or was lost just now, in ms. */
function unansweredOf(attempts: Attempts): number {
  const { lost, answered } = attempts;
  const now = performance.now();
  const isLost = lost !== undefined && answered < lost.until && now - lost.until < lostMs;
  return Math.max(silenceOf(attempts), isLost ? now - Math.max(lost.since, answered) : 0);
}

/** Adds an attempt that was lost just now. An answer ends the outage of those before. */
function addLost({ lost, answered }: Attempts, sent: number): Attempts["lost"] {
  const isSame = lost && answered < lost.until && sent - lost.until < maxPauseMs;
  return { since: isSame ? lost.since : sent, until: performance.now() };
}

/**
 * Notes when an attempt is sent, and when its whole answer is there, which may be an error. Each
 * operation by itself, because a store may hang for reads while it answers writes.
 */
function observeAttempts(client: DynamoDBClient, operations: Map<string, Attempts>): void {
  const attemptsOf = (name: string): Attempts => {
    const known = operations.get(name);
    if (known) return known;
    const attempts = {
      waiting: new Set<never>(),
      answered: Number.NEGATIVE_INFINITY,
      lost: undefined,
    };
    operations.set(name, attempts);
    return attempts;
  };
  client.middlewareStack.add(
    (next, { commandName }) => {
      const attempts = attemptsOf(commandName ?? "");
      return async (args) => {
        const attempt = { sent: performance.now() };
        attempts.waiting.add(attempt);
        try {
          const result = await next(args);
          attempts.answered = performance.now();
          return result;
        } catch (error) {
          const { $metadata } = error as RequestError;
          if ($metadata?.httpStatusCode !== undefined) attempts.answered = performance.now();
          else attempts.lost = addLost(attempts, attempt.sent);
          throw error;
        } finally {
          attempts.waiting.delete(attempt);
        }
      };
    },
    // Within the retries of the SDK, and around the reading of the body.
    { step: "finalizeRequest", name: "meguriAttempts", priority: "low" },
  );
}

/**
 * Waits for a request. Throws THROTTLED if it was throttled and STORE_UNAVAILABLE if the store is
 * away, both without the store's own message. The clients themselves throw STORE_REFUSES.
 */
export async function orUnavailable<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (throttleErrors.has((error as Error).name)) throw throttled();
    if (!isTransient(error)) throw error;
    throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
  }
}

export const throttled = (): DomainError =>
  new DomainError("THROTTLED", "the store throttles these records");
