/** Tests which errors are sent again, and where. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { backoffMs, createRetryBudget, verdictOn } from "../../packages/client/src/retry-policy.ts";
import { DomainError, reasons, reasonTable } from "../../src/domain/errors.ts";
import { RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { toConnectError } from "../../src/rpc/server/errors.ts";

const retryOf = (error: ConnectError) => verdictOn(error).retry;

/** An error of Node with a code, as connect-node passes it on. */
function nodeError(code: Code, message: string, props: object = {}): ConnectError {
  const cause = Object.assign(new Error(message), props);
  return new ConnectError(message, code, undefined, undefined, cause);
}

describe("the verdict", () => {
  const elsewhere = ["DRAINING", "TOO_MANY_STREAMS", "CLOCK_OFF"];

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
      "a certificate",
      nodeError(Code.Internal, "self-signed", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
      "never",
    ],
  ])("on %s", (_, error, retry) => {
    expect(retryOf(error)).toBe(retry);
  });
});

test("waits are random and grow up to two seconds", () => {
  const most = (retries: number) =>
    Math.max(...Array.from({ length: 1_000 }, () => backoffMs(retries)));
  expect(most(0)).toBeLessThanOrEqual(50);
  expect(most(2)).toBeGreaterThan(100);
  expect(most(2)).toBeLessThanOrEqual(200);
  expect(most(20)).toBeLessThanOrEqual(2_000);
});

test("ten calls that succeed earn one retry", () => {
  const budget = createRetryBudget();
  let taken = 0;
  while (budget.take()) taken += 1;
  expect(taken).toBeGreaterThanOrEqual(100);
  for (let i = 0; i < 11; i++) budget.succeeded();
  expect(budget.take()).toBe(true);
});
