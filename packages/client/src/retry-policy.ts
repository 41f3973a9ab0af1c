/** Decides whether and when a failed call is sent again. */
import { Code, type ConnectError } from "@connectrpc/connect";
import type { Reason } from "../../../src/platform/words/reasons.ts";
import { errorInfoOf, retryDelayMsOf } from "./errors.ts";
import { isWrongAddress } from "./wrong-address.ts";

/** The retries that a failure allows. */
type Verdict =
  /** The server has refused the call, or the caller has made a mistake: it stays so. */
  | { readonly retry: "never" }
  /** No server has processed the call: any call may be sent to another server at once. */
  | { readonly retry: "elsewhere"; readonly leastMs: number }
  /** The call may have been made: an idempotent one may be sent again, after `leastMs` or more. */
  | { readonly retry: "later"; readonly leastMs: number };

/** Reasons of one server for calls that it has not processed. */
const reasonsOfOneServer: ReadonlySet<string> = new Set<Reason>([
  "DRAINING",
  "TOO_MANY_STREAMS",
  "OVERLOADED",
  "CLOCK_OFF",
]);

/** The codes of failed tries that no reason explains: no answer in time, or a broken connection. */
const brokenCodes: ReadonlySet<Code> = new Set([
  Code.DeadlineExceeded,
  Code.Unavailable,
  Code.Aborted,
  Code.Canceled,
]);

const never: Verdict = { retry: "never" };

/** The verdict on the error of one try, which neither the caller nor its deadline has ended. */
export function verdictOn(error: ConnectError): Verdict {
  const info = errorInfoOf(error);
  const leastMs = retryDelayMsOf(error);
  if (info) {
    if (reasonsOfOneServer.has(info.reason)) return { retry: "elsewhere", leastMs: leastMs ?? 0 };
    const isRetryable = leastMs !== undefined || error.code === Code.DeadlineExceeded;
    return isRetryable ? { retry: "later", leastMs: leastMs ?? 0 } : never;
  }
  if (isUnprocessed(error)) return unprocessed(error);
  if (leastMs !== undefined || brokenCodes.has(error.code) || isBrokenTransport(error)) {
    return { retry: "later", leastMs: leastMs ?? 0 };
  }
  return never;
}

/** The verdict on a try for which there was no connection. */
export const unprocessed = (error: ConnectError): Verdict =>
  isAboutTls(error) || isWrongAddress(error) ? never : { retry: "elsewhere", leastMs: 0 };

/** Whether the server has answered that it is about to stop. */
export const isDraining = (error: ConnectError): boolean =>
  errorInfoOf(error)?.reason === "DRAINING";

/**
 * Whether a call certainly never reached a handler: no connection was made, or the server refused
 * the HTTP/2 stream (REFUSED_STREAM, RFC 9113 section 8.7), or sent GOAWAY before it. connect-node
 * reports most of these as INTERNAL, with Node's error as the cause.
 */
function isUnprocessed(error: ConnectError): boolean {
  return causesOf(error).some(({ code, syscall, message }) => {
    if (syscall === "connect" || syscall === "getaddrinfo") return true;
    if (code === "ERR_HTTP2_GOAWAY_SESSION" || code === "ERR_HTTP2_STREAM_CANCEL") return true;
    if (code === "ERR_HTTP2_STREAM_ERROR") return message.includes("NGHTTP2_REFUSED_STREAM");
    return message.includes("stream closed with error code REFUSED_STREAM");
  });
}

/** Whether nobody listens at the address, or its name is unknown. */
export const hasNoServer = (error: unknown): boolean =>
  causesOf(error).some(({ syscall }) => syscall === "connect" || syscall === "getaddrinfo");

/** Whether the error is about certificates: the next try would fail in the same way. */
const isAboutTls = (error: ConnectError): boolean =>
  causesOf(error).some(
    ({ code }) =>
      code !== undefined && /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_)|SELF_SIGNED/.test(code),
  );

/** Whether an INTERNAL comes from this side of the connection: no server has sent headers. */
const isBrokenTransport = (error: ConnectError): boolean =>
  error.code === Code.Internal && error.metadata.keys().next().done === true && !isAboutTls(error);

/** An error of Node, which may have a code and the name of a system call. */
type NodeError = Error & { readonly code?: string; readonly syscall?: string };

/** The error and its causes. A ConnectError's own `code` is a number and does not count. */
function causesOf(error: unknown): NodeError[] {
  const causes: NodeError[] = [];
  let next = error;
  while (next instanceof Error && !causes.includes(next)) {
    causes.push(next);
    next = next.cause;
  }
  return causes;
}

/** The first wait is up to `baseMs`, each further one up to twice as long, at most `capMs`. */
const baseMs = 50;
const capMs = 2_000;

/** A random wait in ms before a retry (full jitter), on top of what the server asks for. */
export const backoffMs = (earlierRetries: number): number =>
  Math.random() * Math.min(capMs, baseMs * 2 ** earlierRetries);

/** The size of the retry budget, and what refills it: calls that succeed, and time. */
const capacity = 100;
const perSuccess = 0.1;
const perSecond = 10;

/** Limits the retries of a client, so that servers that are down or overloaded get few of them. */
export interface RetryBudget {
  succeeded(): void;
  /** Takes one retry. Returns false if there is none. */
  take(): boolean;
}

/** A token bucket, as gRPC's retry throttling, that also refills with time. */
export function createRetryBudget(): RetryBudget {
  let tokens = capacity;
  let refilledAt = performance.now();
  return {
    succeeded() {
      tokens = Math.min(capacity, tokens + perSuccess);
    },
    take() {
      const now = performance.now();
      tokens = Math.min(capacity, tokens + ((now - refilledAt) / 1_000) * perSecond);
      refilledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
