/** Tests errors on the wire: each reason with its code, and no details of internal errors. */
import { create } from "@bufbuild/protobuf";
import {
  type CallOptions,
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type HandlerContext,
} from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { violationsOf } from "@meguri/client";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as notifications from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import {
  ListProgramsRequestSchema,
  ProgramService,
} from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { authenticateByHeader } from "../../../src/platform/auth/header.ts";
import { admitCallers } from "../../../src/platform/edge/admission.ts";
import { toConnectError } from "../../../src/platform/edge/errors.ts";
import { interceptors } from "../../../src/platform/edge/interceptors.ts";
import { InvalidRequest } from "../../../src/platform/messages/invalid-request.ts";
import { requestedPage } from "../../../src/platform/messages/page-tokens.ts";
import {
  toInstant,
  toMilliseconds,
  toSafeInteger,
} from "../../../src/platform/messages/scalars.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { type Reason, reasons, reasonTable } from "../../../src/platform/words/reasons.ts";
import { expectedReasons } from "../../support/fixtures/expected-reasons.ts";
import { refusalOf, toRefusal } from "../../support/servers/refusal.ts";

const { NotificationService } = notifications;

/** The admission and the interceptors of a server. */
const options = {
  requestGate: admitCallers({ authenticate: authenticateByHeader }),
  interceptors: interceptors({
    owners: { of: async () => "owner" },
    storeSilenceMs: () => 0,
  }),
};

/** The name of a code in Connect: `INVALID_ARGUMENT` is `InvalidArgument` there. */
const connectCode = (code: string) =>
  code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Metadata that the table has for a reason. */
const anyMetadata = (reason: Reason): Record<string, string> =>
  Object.fromEntries(
    Object.entries(reasonTable[reason].metadata ?? {}).map(([name, type]) => [
      name,
      type.startsWith("text") ? "any" : "1",
    ]),
  );

describe("a reason", () => {
  test.each(reasons)(
    "%s has its code, one ErrorInfo, and RetryInfo if it has a delay",
    (reason) => {
      const metadata = anyMetadata(reason);
      const error = new DomainError(reason, "why", metadata);
      const [code, , retryDelayMs] = expectedReasons[reason];
      expect(toRefusal(toConnectError(error))).toEqual({
        code: connectCode(code),
        reason,
        metadata,
        fields: reason === "INVALID_REQUEST" ? ["any"] : [],
        retries: retryDelayMs !== undefined,
        message: "why",
      });
    },
  );

  test.each(reasons)("%s arrives at clients that take 8 KiB of metadata", (reason) => {
    const trailers = new Headers();
    const text = "配送先のお名前とご住所; ".repeat(2_000);
    const longest = new DomainError(reason, text, anyMetadata(reason));
    setTrailerStatus(trailers, toConnectError(longest));
    const bytes = [...trailers].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
    expect(bytes).toBeLessThanOrEqual(4_096);
    expect(toRefusal(toConnectError(longest)).message).toMatch(
      /^配送先のお名前とご住所; 配.* \.\.\.$/,
    );
  });

  test("INVALID_REQUEST says how many violations it does not name", () => {
    const all = Array.from({ length: 79 }, (_, n) => ({ field: `f${n}`, description: "is wrong" }));
    const { message, fields } = toRefusal(toConnectError(new InvalidRequest(all)));
    expect(fields).toHaveLength(10);
    expect(message).toMatch(/; f9: is wrong; and 69 more$/);
  });

  test("INVALID_REQUEST with long texts names all of its fields", () => {
    const description = "が".repeat(3_000);
    const all = Array.from({ length: 10 }, (_, n) => ({ field: `f${n}`, description }));
    const trailers = new Headers();
    const error = toConnectError(new InvalidRequest(all));
    setTrailerStatus(trailers, error);
    expect(String([...trailers]).length).toBeLessThanOrEqual(4_096);
    expect(toRefusal(error).fields).toHaveLength(10);
  });

  test("INVALID_REQUEST names the fields, found by the schema or by the domain", () => {
    const rule = new DomainError("INVALID_REQUEST", "no such zone", { field: "time_zone" });
    expect(toRefusal(toConnectError(rule)).fields).toEqual(["time_zone"]);
    const violations = ["a", "b"].map((field) => ({ field, description: "is wrong" }));
    const schema = toRefusal(toConnectError(new InvalidRequest(violations)));
    expect([schema.fields, schema.message]).toEqual([["a", "b"], "a: is wrong; b: is wrong"]);
  });

  test.each([
    ["until is too early", "is too early"],
    ["until: is too early", "is too early"],
    ["until_then is too early", "until_then is too early"],
    ["this is too early", "this is too early"],
  ])("the description of %s does not repeat the field", (message, description) => {
    const error = new DomainError("INVALID_REQUEST", message, { field: "until" });
    const [violation] = violationsOf(toConnectError(error));
    expect(violation).toMatchObject({ field: "until", description });
  });

  test("DEADLINE is what Connect's own deadline becomes", () => {
    const error = new ConnectError("the operation timed out", Code.DeadlineExceeded);
    expect(toRefusal(toConnectError(error)).reason).toBe("DEADLINE");
  });
});

describe("an error without a reason", () => {
  const secret = "User: arn:aws:iam::123 is not authorized on table meguri-points";

  test.each([
    ["an error", new Error(secret)],
    ["a service exception", Object.assign(new Error(secret), { $fault: "client", $metadata: {} })],
    ["a text", secret],
    ["nothing", undefined],
  ])("%s is INTERNAL without details", (_, thrown) => {
    const error = toConnectError(thrown);
    expect([error.code, error.rawMessage, error.details]).toEqual([
      Code.Internal,
      "internal error",
      [],
    ]);
    expect(error.cause).toBeUndefined();
    expect([...error.metadata]).toEqual([]);
  });

  test("an aborted call is Canceled", () => {
    const left = new DOMException("This operation was aborted", "AbortError");
    expect(toConnectError(left).code).toBe(Code.Canceled);
  });
});

describe("a call", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A server whose GetProgram is the given function. */
  function serve(getProgram: () => Promise<never>) {
    const transport = createRouterTransport(
      ({ service }) => service(ProgramService, { getProgram }),
      { router: options },
    );
    const client = createClient(ProgramService, transport);
    const headers = { "meguri-caller": "tests" };
    return {
      get: () => client.getProgram({ programId: "p" }, { headers }),
    };
  }

  test("with an internal error is answered without details", async () => {
    const { get } = serve(() => Promise.reject(new Error("table meguri-points is gone")));
    const error: unknown = await get().catch((reason) => reason);
    expect(String(error)).toBe("ConnectError: [internal] internal error");
  });

  test("without a deadline is answered after ten seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { get } = serve(() => new Promise(() => {}));
    const refusal = refusalOf(get());
    await vi.advanceTimersByTimeAsync(9_999);
    let answered = false;
    void refusal.then(() => {
      answered = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(answered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await refusal).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE" });
  });
});

describe("a stream", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  type Answers = AsyncIterable<{ content: { case: "end"; value: { cause: 1 } } }>;
  const message = { content: { case: "end", value: { cause: 1 } } } as const;

  /** A server whose stream is the given function. */
  function serve(watchUnreadCounts: (_: unknown, context: HandlerContext) => Answers) {
    const transport = createRouterTransport(
      ({ service }) => service(NotificationService, { watchUnreadCounts }),
      { router: options },
    );
    const client = createClient(NotificationService, transport);
    return {
      async *watch(ownerId = "o", options: CallOptions = {}) {
        const headers = { "meguri-caller": "tests" };
        yield* client.watchUnreadCounts({ watches: [{ ownerId }] }, { headers, ...options });
      },
    };
  }

  async function read(messages: AsyncIterable<unknown>): Promise<number> {
    let count = 0;
    for await (const _ of messages) count += 1;
    return count;
  }

  test("that fails in its middle is answered like any call", async () => {
    const refusing = serve(async function* () {
      yield message;
      throw new DomainError("STORE_UNAVAILABLE", "no answer");
    });
    const refusal = await refusalOf(read(refusing.watch()));
    expect(refusal).toMatchObject({ code: "Unavailable", reason: "STORE_UNAVAILABLE" });
    const failing = serve(async function* () {
      yield message;
      throw new Error("table meguri-points is gone");
    });
    const error: unknown = await read(failing.watch()).catch((reason) => reason);
    expect(String(error)).toBe("ConnectError: [internal] internal error");
  });

  test("is not opened by a request that breaks the rules", async () => {
    let opened = 0;
    const { watch } = serve(async function* () {
      opened += 1;
      yield message;
    });
    const refusal = await refusalOf(read(watch("a#b")));
    expect(refusal).toMatchObject({ reason: "INVALID_REQUEST", fields: ["watches[0].owner_id"] });
    const nobody = read(watch("o", { headers: {} }));
    expect(await refusalOf(nobody)).toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(opened).toBe(0);
  });

  test("has no time limit but the client's", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { promise: later, resolve } = Promise.withResolvers<void>();
    const { watch } = serve(async function* () {
      yield message;
      await later;
      yield message;
    });
    const messages = watch()[Symbol.asyncIterator]();
    await messages.next();
    await vi.advanceTimersByTimeAsync(3_600_000);
    resolve();
    expect(await messages.next()).toMatchObject({ done: false });
    expect(await messages.next()).toMatchObject({ done: true });
  });

  test("that its client cancels ends", async () => {
    const ended = Promise.withResolvers<void>();
    const { watch } = serve(async function* (_, { signal }) {
      yield message;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ended.resolve();
    });
    const leaving = new AbortController();
    const messages = watch("o", { signal: leaving.signal })[Symbol.asyncIterator]();
    await messages.next();
    const waiting = messages.next();
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled });
    await ended.promise;
  });
});

describe("scalars", () => {
  test("times are whole milliseconds, cut and never rounded", () => {
    expect(toInstant({ seconds: 1n, nanos: 999_999_999 } as never, "t")).toBe(1_999);
    expect(toMilliseconds({ seconds: 0n, nanos: 1_999_999 } as never, "d")).toBe(1);
  });

  test.each([-1, 1_000_000_000])("%i nanos are refused", (nanos) => {
    const time = { seconds: 1n, nanos } as never;
    expect(() => toInstant(time, "t")).toThrow("t: nanos: 0 to 999,999,999");
  });

  test("integers are safe ones", () => {
    expect(toSafeInteger(2n ** 53n - 1n, "n")).toBe(Number.MAX_SAFE_INTEGER);
    for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n]) {
      expect(() => toSafeInteger(value, "n")).toThrow(InvalidRequest);
    }
  });
});

describe("page tokens", () => {
  const request = (init: { pageSize?: number; pageToken?: string }) =>
    create(ListProgramsRequestSchema, init);

  test("return the cursor, whatever it contains", () => {
    const { page, next } = requestedPage(ListProgramsRequestSchema, request({}));
    expect(page).toEqual({ size: 50, cursor: undefined });
    expect(next({})).toBe("");
    for (const cursor of ["", "a", '{"é":"巡"}', "\u0000#"]) {
      const pageToken = next({ cursor });
      expect(pageToken).toMatch(/^[\w-]+$/);
      const behind = requestedPage(ListProgramsRequestSchema, request({ pageSize: 7, pageToken }));
      expect(behind.page).toEqual({ size: 7, cursor });
    }
  });
});
