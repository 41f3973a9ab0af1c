/** Tests that a call is sent again only if that is safe, where, and after which wait. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Call, sendCall } from "../../packages/client/src/call.ts";
import type { RetryBudget } from "../../packages/client/src/retry-policy.ts";
import type { Server, Servers } from "../../packages/client/src/servers.ts";
import type { TokenSource } from "../../packages/client/src/token.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import type { Reason } from "../../src/platform/words/reasons.ts";

/** The waits between tries, which are recorded and not slept. */
const delays = vi.hoisted(() => [] as number[]);
vi.mock("node:timers/promises", () => ({
  async setTimeout(ms: number, _: undefined, options?: { signal?: AbortSignal }) {
    options?.signal?.throwIfAborted();
    delays.push(ms);
  },
}));
beforeEach(() => {
  delays.length = 0;
  // The waits are 25, 50, 100 ms and so on, on top of what the server asks for.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const broken = new ConnectError("the connection broke", Code.Aborted);
const refused = new ConnectError(
  "http/2 stream closed with error code REFUSED_STREAM",
  Code.Unavailable,
);
const unauthenticated = new ConnectError("an old token", Code.Unauthenticated);
const noConnection = new ConnectError("no connection", Code.Unavailable);
const badCertificate = new ConnectError(
  "no connection",
  Code.Unavailable,
  undefined,
  undefined,
  Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
);

/** Meguri's own error with RetryInfo. */
const failure = (reason: Reason, delayMs: number) =>
  new ConnectError(reason, Code.ResourceExhausted, undefined, [
    { desc: ErrorInfoSchema, value: { domain: "meguri", reason } },
    { desc: RetryInfoSchema, value: { retryDelay: durationFromMs(delayMs) } },
  ]);

/** Servers that are connected, and picked in their order. */
function serversOf(ids: string, more: Partial<Servers> = {}) {
  const all = [...ids].map((id) => ({ id, connection: { isReady: () => true } }) as Server);
  const leftOut: string[] = [];
  const servers: Servers = {
    pick: (_, skip) => all.find((server) => !skip?.has(server)) ?? (all[0] as Server),
    connect: async () => {},
    hasOther: (skip) => all.some((server) => !skip.has(server)),
    leaveOut: ({ id }) => leftOut.push(id),
    isClosed: () => false,
    close() {},
    ...more,
  };
  return { servers, leftOut };
}

interface Setup {
  readonly servers?: Servers;
  readonly budget?: RetryBudget;
  readonly tokens?: TokenSource;
  readonly call?: Partial<Call>;
}

/** Sends a call whose first tries fail with `failures`. Returns the tries, and the call's error. */
async function send(failures: readonly ConnectError[], setup: Setup = {}) {
  const { servers = serversOf("a").servers, tokens } = setup;
  const budget = setup.budget ?? { succeeded() {}, take: () => true };
  const call: Call = {
    key: undefined,
    isIdempotent: true,
    isWhole: () => true,
    signal: undefined,
    deadline: Number.POSITIVE_INFINITY,
    retryUntil: Number.POSITIVE_INFINITY,
    waitUntil: Number.POSITIVE_INFINITY,
    ...setup.call,
  };
  const left = [...failures];
  const tries: string[] = [];
  const headers: (string | undefined)[] = [];
  const error = await sendCall({ servers, budget, tokens }, call, async ({ id }, header) => {
    tries.push(id);
    headers.push(header);
    const next = left.shift();
    if (next) throw next;
  }).catch((thrown: unknown) => thrown);
  return { tries: tries.join(""), headers, error };
}

test.each<[string, Partial<Call>, ConnectError, string]>([
  ["an idempotent call after a broken connection", {}, broken, "aa"],
  ["any other call after a broken connection", { isIdempotent: false }, broken, "a"],
  ["any call after a refused stream", { isIdempotent: false }, refused, "aa"],
  ["a call whose messages are gone", { isWhole: () => false }, refused, "a"],
  ["a call without time", { retryUntil: 0 }, broken, "a"],
])("%s", async (_, call, first, tries) => {
  expect(await send([first], { call })).toMatchObject({
    tries,
    error: tries === "a" ? first : undefined,
  });
});

describe("a call that no server has processed", () => {
  test("moves at once, and waits when it has been to every server", async () => {
    const all = Array<ConnectError>(7).fill(refused);
    const { servers } = serversOf("abc");
    expect(await send(all, { servers })).toMatchObject({ tries: "abcabcab", error: undefined });
    expect(delays).toEqual([25, 50]);
  });

  test("goes to the only server once more at once, and then after waits", async () => {
    expect((await send([refused, refused, refused])).tries).toBe("aaaa");
    expect(delays).toEqual([25, 50]);
  });

  test("waits as long as the server asks, already at its first move", async () => {
    await send([failure("TOO_MANY_STREAMS", 300), refused]);
    expect(delays).toEqual([325, 50]);
  });

  test("does not wait for a server that it leaves, nor takes from the budget", async () => {
    const budget = { succeeded: vi.fn(), take: vi.fn(() => false) };
    const { servers } = serversOf("ab");
    const full = [failure("TOO_MANY_STREAMS", 300)];
    expect((await send(full, { servers, budget })).tries).toBe("ab");
    expect(delays).toEqual([]);
    expect(budget.take).not.toHaveBeenCalled();
    expect(budget.succeeded).toHaveBeenCalledTimes(1);
  });

  test("has longer for a server that asks to come later than for one that is away", async () => {
    vi.spyOn(performance, "now").mockReturnValue(0);
    const all = Array.from({ length: 5 }, () => failure("OVERLOADED", 1_000));
    const call = { retryUntil: 1_000, waitUntil: 1_300 };
    expect((await send(all, { call })).tries).toBe("aaaaa");
    expect(delays).toEqual([1_025, 1_050, 1_100, 1_200]);
    expect((await send([failure("CONTENDED", 1_000)], { call })).tries).toBe("a");
  });

  test("leaves out a server that is about to stop, and no other one", async () => {
    const { servers, leftOut } = serversOf("abc");
    await send([refused, failure("DRAINING", 0)], { servers });
    expect(leftOut).toEqual(["b"]);
  });
});

describe("a call that a server may have processed", () => {
  test("goes to the same server after waits on top of what it asks for", async () => {
    const { servers } = serversOf("ab");
    const all = [broken, failure("CONTENDED", 300), broken];
    expect((await send(all, { servers })).tries).toBe("aaaa");
    expect(delays).toEqual([25, 350, 100]);
  });

  test("fails with its last error when the budget is empty", async () => {
    let left = 1;
    const budget = { succeeded: vi.fn(), take: () => left-- > 0 };
    const last = failure("CONTENDED", 10);
    expect(await send([broken, last], { budget })).toMatchObject({ tries: "aa", error: last });
    expect(budget.succeeded).not.toHaveBeenCalled();
  });

  test.each([
    [1_025, "a"],
    [1_025.5, "aa"],
  ])("has to wait for less time than is left: until %d ms", async (retryUntil, tries) => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    expect((await send([broken], { call: { retryUntil } })).tries).toBe(tries);
  });

  test("is not sent again after a refusal", async () => {
    const refusal = new ConnectError("no", Code.InvalidArgument);
    expect(await send([refusal])).toMatchObject({ tries: "a", error: refusal });
  });
});

describe("a token that a server does not accept", () => {
  const sourceOf = (hasOther: boolean) => {
    const rejected: string[] = [];
    const tokens: TokenSource = {
      header: async () => `Bearer ${rejected.length}`,
      reject: (header) => rejected.push(header) > 0 && hasOther,
    };
    return { tokens, rejected };
  };

  test("is replaced once, without a wait", async () => {
    const once = sourceOf(true);
    expect(await send([unauthenticated], once)).toMatchObject({
      headers: ["Bearer 0", "Bearer 1"],
      error: undefined,
    });
    expect(delays).toEqual([]);
    const twice = sourceOf(true);
    expect(await send([unauthenticated, unauthenticated], twice)).toMatchObject({
      tries: "aa",
      error: unauthenticated,
    });
    expect(twice.rejected).toEqual(["Bearer 0"]);
  });

  test.each([
    [10_000, 2],
    [10_001, 4],
  ])("is replaced again if it was accepted for a while: %d ms", async (acceptedMs, tries) => {
    const now = vi.spyOn(performance, "now").mockReturnValue(0);
    const { tokens, rejected } = sourceOf(true);
    const header = tokens.header;
    tokens.header = () => {
      now.mockReturnValue(rejected.length * acceptedMs);
      return header();
    };
    const outlived = [unauthenticated, unauthenticated, unauthenticated];
    expect(await send(outlived, { tokens })).toMatchObject({
      headers: ["Bearer 0", "Bearer 1", "Bearer 2", "Bearer 3"].slice(0, tries),
      error: tries === 2 ? unauthenticated : undefined,
    });
  });

  test("fails the call if there is no other one, or none was sent", async () => {
    for (const setup of [sourceOf(false), {}]) {
      expect(await send([unauthenticated], setup)).toMatchObject({
        tries: "a",
        error: unauthenticated,
      });
    }
  });

  test("is not replaced after other errors", async () => {
    const { tokens, rejected } = sourceOf(true);
    await send([broken], { tokens });
    expect(rejected).toEqual([]);
  });
});

describe("a server without a connection", () => {
  const notReady = (connect: Servers["connect"], more: Partial<Servers> = {}) => {
    const server = { id: "n", connection: { isReady: () => false } } as Server;
    return serversOf("", { pick: () => server, hasOther: () => false, connect, ...more }).servers;
  };

  test("is connected to first; one with a connection is not", async () => {
    const connect = vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, 10)));
    expect((await send([], { servers: notReady(connect) })).tries).toBe("n");
    expect(connect).toHaveBeenCalledTimes(1);
    await send([], { servers: serversOf("a", { connect }).servers });
    expect(connect).toHaveBeenCalledTimes(1);
  });

  test("has processed no call, so that any call is sent again", async () => {
    const connect = vi.fn<Servers["connect"]>().mockRejectedValueOnce(noConnection);
    const call = { isIdempotent: false };
    expect((await send([], { servers: notReady(connect), call })).tries).toBe("n");
    expect(connect).toHaveBeenCalledTimes(2);
  });

  test("is not tried again if its certificate is bad", async () => {
    const connect = vi.fn<Servers["connect"]>().mockRejectedValueOnce(badCertificate);
    expect(await send([], { servers: notReady(connect) })).toMatchObject({ error: badCertificate });
    expect(connect).toHaveBeenCalledTimes(1);
  });

  test("holds a call up to its deadline, and so does a name without an address", async () => {
    const never = () => new Promise<never>(() => {});
    const warn = vi.spyOn(process, "emitWarning");
    for (const servers of [notReady(never), notReady(never, { pick: never })]) {
      const call = { deadline: performance.now() + 50, retryUntil: 0 };
      // The first move costs nothing, so that two connections are tried.
      expect(await send([], { servers, call })).toMatchObject({
        tries: "",
        error: {
          code: Code.Unavailable,
          rawMessage: "no connection before the deadline",
        },
      });
    }
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("a call that has ended", () => {
  test("is not sent again after its signal or the client's close", async () => {
    const aborted = { call: { signal: AbortSignal.abort() } };
    const closed = { servers: serversOf("a", { isClosed: () => true }).servers };
    for (const setup of [aborted, closed]) {
      expect(await send([refused], setup)).toMatchObject({ tries: "a", error: refused });
    }
  });

  test("is CANCELED when its signal ends a wait", async () => {
    const controller = new AbortController();
    const budget = {
      succeeded() {},
      take: () => {
        controller.abort();
        return true;
      },
    };
    expect(await send([broken], { budget, call: { signal: controller.signal } })).toMatchObject({
      tries: "a",
      error: { code: Code.Canceled },
    });
    expect(delays).toEqual([]);
  });
});
