/** Sends one call until it succeeds, is refused, or its time is up. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { asRefusal } from "./errors.ts";
import { backoffMs, isDraining, type RetryBudget, unprocessed, verdictOn } from "./retry-policy.ts";
import type { Server, Servers } from "./servers.ts";
import type { TokenSource } from "./token.ts";
import { within } from "./within.ts";

/** A call, from its first try to its last. */
export interface Call {
  readonly key: string | undefined;
  /** Whether it may be sent again although a server may have processed it. */
  readonly isIdempotent: boolean;
  /** Whether its messages can be sent again. */
  readonly isWhole: () => boolean;
  readonly signal: AbortSignal | undefined;
  /** The deadline in `performance.now()` milliseconds; infinite without one. */
  readonly deadline: number;
  /** Until when it may be sent again, in the same milliseconds. */
  readonly retryUntil: number;
  /** Until when it may be sent again if every server has only asked to come later. */
  readonly waitUntil: number;
}

/**
 * A token that is rejected later than this after the one before it was accepted in between: by a
 * stream that waits for its first message, and ends when its token expires.
 */
const acceptedMs = 10_000;

/** Sends one try to a server, with this header `authorization`. */
type Try<T> = (server: Server, authorization: string | undefined) => Promise<T>;

export interface CallDeps {
  readonly servers: Servers;
  readonly budget: RetryBudget;
  readonly tokens: TokenSource | undefined;
}

/** The failed tries of a call so far. */
interface Failures {
  retries: number;
  /** Whether it has moved to another server or connection at once. */
  hasMoved: boolean;
  /** When a server has last rejected a token, in `performance.now()` milliseconds. */
  tokenRejectedAt: number;
  readonly tried: Set<Server>;
}

/**
 * Sends a call to the server of its key. A try that no server has processed moves to another server
 * at once. Any other failure that may pass is tried again after a backoff if the call is
 * idempotent and the budget allows it. Throws the ConnectError of the last try.
 */
export async function sendCall<T>(deps: CallDeps, call: Call, attempt: Try<T>): Promise<T> {
  const { servers, budget, tokens } = deps;
  let failures: Failures | undefined;
  for (;;) {
    const header = tokens?.header();
    const authorization = header instanceof Promise ? await header : header;
    let server: Server | undefined;
    let isSent = false;
    try {
      const picked = servers.pick(call.key, failures?.tried);
      server = picked instanceof Promise ? await inTime(picked, call) : picked;
      if (!server.connection.isReady()) await inTime(servers.connect(server), call);
      isSent = true;
      const result = await attempt(server, authorization);
      budget.succeeded();
      return result;
    } catch (thrown) {
      const error = asRefusal(ConnectError.from(thrown));
      if (call.signal?.aborted || servers.isClosed() || !call.isWhole()) throw error;
      failures ??= { retries: 0, hasMoved: false, tokenRejectedAt: -Infinity, tried: new Set() };
      if (error.code === Code.Unauthenticated && authorization !== undefined) {
        const wasAccepted = performance.now() - failures.tokenRejectedAt > acceptedMs;
        if (!wasAccepted || !tokens?.reject(authorization)) throw error;
        failures.tokenRejectedAt = performance.now();
      } else {
        await waitToRetry(deps, call, { server, isSent, error }, failures);
      }
    }
  }
}

interface Failure {
  readonly server: Server | undefined;
  readonly isSent: boolean;
  readonly error: ConnectError;
}

/** Waits before the next try. Throws the error if there is no next one. */
async function waitToRetry(
  { servers, budget }: CallDeps,
  call: Call,
  { server, isSent, error }: Failure,
  failures: Failures,
): Promise<void> {
  const verdict = isSent ? verdictOn(error) : unprocessed(error);
  if (verdict.retry === "never") throw error;
  if (verdict.retry === "elsewhere") {
    if (server && isDraining(error)) servers.leaveOut(server);
    if (server) failures.tried.add(server);
    const isFirst = !failures.hasMoved && verdict.leastMs === 0;
    failures.hasMoved = true;
    if (isFirst || servers.hasOther(failures.tried)) return;
    failures.tried.clear();
  } else if (!call.isIdempotent) {
    throw error;
  }
  const isAskedToWait = verdict.retry === "elsewhere" && verdict.leastMs > 0;
  const until = isAskedToWait ? call.waitUntil : call.retryUntil;
  const waitMs = verdict.leastMs + backoffMs(failures.retries++);
  if (performance.now() + waitMs >= until || !budget.take()) throw error;
  try {
    await sleep(waitMs, undefined, call.signal && { signal: call.signal });
  } catch (aborted) {
    throw ConnectError.from(aborted, Code.Canceled);
  }
}

function inTime<T>(promise: Promise<T>, { deadline, signal }: Call): Promise<T> {
  // Node warns of a negative time, which is left when a call moves at its deadline.
  const leftMs = Math.max(0, deadline - performance.now());
  return within(promise, leftMs, "no connection before the deadline", signal);
}
