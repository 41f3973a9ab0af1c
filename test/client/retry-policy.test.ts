/** Tests which errors are sent again, and where. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  backoffMs,
  createRetryBudget,
  hasNoServer,
  isDraining,
  type RetryBudget,
  unprocessed,
  verdictOn,
} from "../../packages/client/src/retry-policy.ts";
import { RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { toConnectError } from "../../src/platform/edge/errors.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { type Reason, reasons, reasonTable } from "../../src/platform/words/reasons.ts";

const retryOf = (error: ConnectError) => verdictOn(error).retry;

/** An error of Node with a code, as connect-node passes it on. */
function nodeError(code: Code, message: string, props: object = {}): ConnectError {
  const cause = Object.assign(new Error(message), props);
  return new ConnectError(message, code, undefined, undefined, cause);
}

describe("the verdict", () => {
  const elsewhere = ["DRAINING", "TOO_MANY_STREAMS", "OVERLOADED", "CLOCK_OFF"];

  test.each(reasons)("on %s follows from the table of reasons", (reason) => {
    const verdict = verdictOn(toConnectError(new DomainError(reason, "text")));
    const { retryable, retryDelayMs = 0 } = reasonTable[reason];
    if (!retryable) expect(verdict).toEqual({ retry: "never" });
    else {
      const retry = elsewhere.includes(reason) ? "elsewhere" : "later";
      expect(verdict).toEqual({ retry, leastMs: retryDelayMs });
    }
  });

  const details = [{ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(70) } }];
  test("on another server's error with RetryInfo has its delay", () => {
    const error = new ConnectError("slow", Code.ResourceExhausted, undefined, details);
    expect(verdictOn(error)).toEqual({ retry: "later", leastMs: 70 });
  });

  test.each<[string, ConnectError, string]>([
    ["a deadline of a try", new ConnectError("", Code.DeadlineExceeded), "later"],
    ["a balancer without servers", new ConnectError("", Code.Unavailable), "later"],
    ["a reset stream", new ConnectError("", Code.Canceled), "later"],
    ["a broken connection", nodeError(Code.Aborted, "", { code: "ECONNRESET" }), "later"],
    ["a stream without trailers", new ConnectError("missing status", Code.Internal), "later"],
    ["a bug of a server", new ConnectError("", Code.Internal, { "grpc-status": "13" }), "never"],
    ["an unknown method", new ConnectError("", Code.Unimplemented), "never"],
    ["a mistake of the caller", new ConnectError("", Code.Unknown), "never"],
    ["no connection", nodeError(Code.Unavailable, "", { syscall: "connect" }), "elsewhere"],
    ["no address", nodeError(Code.Unavailable, "", { syscall: "getaddrinfo" }), "elsewhere"],
    [
      "a refused stream",
      nodeError(Code.Internal, "Stream closed with error code NGHTTP2_REFUSED_STREAM", {
        code: "ERR_HTTP2_STREAM_ERROR",
      }),
      "elsewhere",
    ],
    [
      "a refused stream without a cause",
      new ConnectError(
        "http/2 stream closed with error code REFUSED_STREAM (0x7)",
        Code.Unavailable,
      ),
      "elsewhere",
    ],
    [
      "a stream that failed",
      nodeError(Code.Internal, "Stream closed with error code NGHTTP2_INTERNAL_ERROR", {
        code: "ERR_HTTP2_STREAM_ERROR",
      }),
      "later",
    ],
    [
      "a stream that GOAWAY ended",
      nodeError(Code.Internal, "", { code: "ERR_HTTP2_GOAWAY_SESSION" }),
      "elsewhere",
    ],
    [
      "a stream that was never sent",
      nodeError(Code.Internal, "", { code: "ERR_HTTP2_STREAM_CANCEL" }),
      "elsewhere",
    ],
    [
      "another failed call of the system",
      nodeError(Code.Aborted, "", { syscall: "read" }),
      "later",
    ],
  ])("on %s", (_, error, retry) => {
    expect(retryOf(error)).toBe(retry);
  });

  test.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "CERT_HAS_EXPIRED",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_WRONG_VERSION_NUMBER",
  ])("on a certificate that is bad (%s) is never", (code) => {
    const error = nodeError(Code.Internal, "", { code });
    expect(retryOf(error)).toBe("never");
    expect(unprocessed(error)).toEqual({ retry: "never" });
    const connecting = nodeError(Code.Unavailable, "", { code, syscall: "connect" });
    expect(retryOf(connecting)).toBe("never");
  });

  test("on a code that only contains that of a bad certificate is not about it", () => {
    for (const code of ["ECONNRESET", "NO_CERT_", "X_UNABLE_TO_", "X_ERR_TLS_", "X_ERR_SSL_"]) {
      expect(retryOf(nodeError(Code.Internal, "", { code })), code).toBe("later");
    }
  });

  test("reads the causes of causes, once where they form a circle", () => {
    const inner = Object.assign(new Error("inner"), { syscall: "connect" });
    const outer = new Error("outer", { cause: inner });
    inner.cause = outer;
    const error = new ConnectError("x", Code.Internal, undefined, undefined, outer);
    expect(verdictOn(error)).toEqual({ retry: "elsewhere", leastMs: 0 });
  });
});

describe("the waits", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each([
    [0, 50],
    [1, 100],
    [5, 1_600],
    [6, 2_000],
    [60, 2_000],
  ])("after %d retries are random and shorter than %d ms", (retries, limitMs) => {
    const random = vi.spyOn(Math, "random");
    for (const part of [0, 0.5, 0.999]) {
      random.mockReturnValueOnce(part);
      expect(backoffMs(retries)).toBe(part * limitMs);
    }
  });
});

describe("the budget", () => {
  let now = 0;
  beforeEach(() => {
    vi.spyOn(performance, "now").mockImplementation(() => now);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** How many retries can be taken now, up to 1,000. */
  function takeAll({ take }: RetryBudget): number {
    let taken = 0;
    while (taken < 1_000 && take()) taken += 1;
    return taken;
  }

  test("has 100 retries, also after many calls that succeeded", () => {
    const budget = createRetryBudget();
    for (let i = 0; i < 1_000; i++) budget.succeeded();
    expect(takeAll(budget)).toBe(100);
  });

  test("gets one more by ten calls that succeed", () => {
    const budget = createRetryBudget();
    takeAll(budget);
    for (let i = 0; i < 9; i++) budget.succeeded();
    expect(takeAll(budget)).toBe(0);
    for (let i = 0; i < 12; i++) budget.succeeded();
    expect(takeAll(budget)).toBe(2);
  });

  test("gets ten more a second, up to 100", () => {
    const budget = createRetryBudget();
    takeAll(budget);
    for (const [ms, taken] of [
      [99, 0],
      [1, 1],
      [1_000, 10],
      [60_000, 100],
    ] as const) {
      now += ms;
      expect(takeAll(budget)).toBe(taken);
    }
  });
});

test("only the reason DRAINING tells that a server is about to stop", () => {
  const of = (reason: Reason) => isDraining(toConnectError(new DomainError(reason, "")));
  expect(reasons.filter(of)).toEqual(["DRAINING"]);
  expect(isDraining(new ConnectError("DRAINING", Code.Unavailable))).toBe(false);
});

test("only a failed connection or look-up of a name tells that nobody listens", () => {
  const of = (syscall?: string) => hasNoServer(nodeError(Code.Unavailable, "", { syscall }));
  expect(["connect", "getaddrinfo", "read", undefined].map(of)).toEqual([true, true, false, false]);
});
