/** Lets calls in by their headers alone, before a byte of their bodies is read. */
import type { Socket } from "node:net";
import type { HandlerContext } from "@connectrpc/connect";
import { TokenBucket } from "limiter";
import { LRUCache } from "lru-cache";
import type { Authenticate } from "../ports/identity.ts";
import { DomainError } from "../words/errors.ts";
import { Quota } from "../work/quota.ts";
import { requireScope } from "./authorize.ts";
import { type Calls, callKey } from "./calls.ts";
import {
  authenticateAgainKey,
  identityKey,
  receivedKey,
  releaseKey,
  socketKey,
} from "./context.ts";
import { toConnectError } from "./errors.ts";
import { noteUnread } from "./malformed.ts";
import { limitsOf } from "./method-limits.ts";
import { takesStream } from "./receive-body.ts";
import { type ByteLimits, createByteBudget } from "./received-bytes.ts";
import { traceRefusal } from "./trace-calls.ts";

/**
 * Decides on a call. Both ports and all protocols ask it first: it is Connect's request gate, and
 * unary gRPC calls ask it as well. Throws a ConnectError for a call that is refused, whose body is
 * then neither read nor parsed.
 */
export type Gate = (context: HandlerContext) => Promise<void>;

interface AdmissionDeps {
  readonly authenticate: Authenticate;
  /** How many calls a second one service may send. Absent: any number. */
  readonly callsPerSecond?: number | undefined;
  /** The most sheets that are received and read at a time: 16 unless a test has fewer. */
  readonly maxSheets?: number;
  /** Other limits than those of production, for tests. */
  readonly byteLimits?: ByteLimits;
  /** Counts the bytes of bodies that are held. */
  readonly calls?: Pick<Calls, "hold">;
}

/** One sheet takes a few megabytes, most of them in the parser. */
const defaultMaxSheets = 16;

/**
 * Finds out who calls, counts the call against the rate of its service, requires the scope of its
 * method, and, for a sheet, takes a slot: one service has at most half of them. A call counts
 * whatever it is refused for later. Refusals: UNAUTHENTICATED, KEYS_UNAVAILABLE, RATE_LIMITED,
 * PERMISSION_DENIED, OVERLOADED.
 */
export function admitCallers(deps: AdmissionDeps): Gate {
  const { authenticate, callsPerSecond, maxSheets = defaultMaxSheets, byteLimits } = deps;
  const countCall = callsPerSecond === undefined ? undefined : createRateLimit(callsPerSecond);
  const countBytes = createByteBudget(byteLimits, deps.calls?.hold);
  const sheets = new Quota<string>({ perHolder: Math.ceil(maxSheets / 2), total: maxSheets });
  return async (context) => {
    const { method, values, requestHeader } = context;
    const call = values.get(callKey);
    try {
      const socket = values.get(socketKey);
      const credentials = { header: (name: string) => requestHeader.get(name), socket };
      const found = authenticate(credentials);
      values.set(authenticateAgainKey, () => authenticate(credentials));
      const identity = found instanceof Promise ? await found : found;
      const { service } = identity.caller;
      values.set(identityKey, identity);
      if (call) call.service = service;
      countCall?.(service);
      requireScope(identity, method);
      if (limitsOf(method).takesSheets) hold(sheets, service, context, tooManySheets);
      const received = countBytes(service, socket);
      values.set(receivedKey, received);
      // A handler that refuses a stream reads no more of it, so nothing else gives its bytes back.
      if (takesStream(method)) onEnd(context, received.end);
    } catch (error) {
      call?.note(error);
      const refusal = toConnectError(error);
      // Strangers would fill the queue of the spans.
      if (call?.service) await traceRefusal(context, refusal);
      throw refusal;
    }
    noteUnread(context);
  };
}

const tooManySheets = (service: string) =>
  new DomainError("OVERLOADED", `${service}, or all services, send as many sheets as may be`);

/** The most streams of health and reflection on one connection. A client needs one or two. */
const maxPublicStreams = 16;

/**
 * Lets everybody in, because the standard services need no caller. Their streams are counted by
 * connection: a client with many streams leaves the quota of other connections free.
 * Refusal: TOO_MANY_STREAMS.
 */
export function admitAnyone(): Gate {
  const streams = new Quota<Socket | undefined>({ perHolder: maxPublicStreams });
  return async (context) => {
    const { method, values } = context;
    if (method.methodKind !== "unary") {
      try {
        hold(streams, values.get(socketKey), context, tooManyStreams);
      } catch (error) {
        values.get(callKey)?.note(error);
        throw toConnectError(error);
      }
    }
    noteUnread(context);
  };
}

const tooManyStreams = () =>
  new DomainError("TOO_MANY_STREAMS", "this connection has as many of these streams as may be");

/** Takes a slot until the call ends. Throws the error of `full`. */
function hold<H>(
  slots: Quota<H>,
  holder: H,
  context: HandlerContext,
  full: (holder: H) => Error,
): void {
  if (!slots.take(holder)) throw full(holder);
  let isHeld = true;
  const release = () => {
    if (isHeld) slots.release(holder);
    isHeld = false;
  };
  // Unary gRPC calls run what is set.
  onEnd(context, release);
  context.values.set(releaseKey, release);
}

/** Calls `release` at the end of a call that Connect serves, which then aborts its signal. */
const onEnd = ({ signal }: HandlerContext, release: () => void): void =>
  signal.addEventListener("abort", release, { once: true });

/** Bounds the memory. A service that was quiet longer than this many has its full burst. */
const maxServices = 10_000;

/**
 * Returns a function that counts a call of a service. Each service has a token bucket that holds
 * the calls of one second. A stream counts as one call. Throws RATE_LIMITED when the bucket is
 * empty.
 */
function createRateLimit(callsPerSecond: number): (service: string) => void {
  const buckets = new LRUCache<string, TokenBucket>({ max: maxServices });

  function bucketOf(service: string): TokenBucket {
    const known = buckets.get(service);
    if (known) return known;
    const options = { bucketSize: callsPerSecond, tokensPerInterval: callsPerSecond };
    const bucket = new TokenBucket({ ...options, interval: "second" });
    bucket.content = callsPerSecond;
    buckets.set(service, bucket);
    return bucket;
  }

  return (service) => {
    if (bucketOf(service).tryRemoveTokens(1)) return;
    throw new DomainError(
      "RATE_LIMITED",
      `${service} may send ${callsPerSecond} calls a second to this server`,
    );
  };
}
