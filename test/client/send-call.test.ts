/** Tests that a call is sent again only if that is safe. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type Call, sendCall } from "../../packages/client/src/call.ts";
import { createRetryBudget } from "../../packages/client/src/retry-policy.ts";
import type { Server, Servers } from "../../packages/client/src/servers.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";

const server = { id: "s", connection: { isReady: () => true } } as Server;
const servers = {
  pick: () => server,
  hasOther: () => false,
  isClosed: () => false,
} as unknown as Servers;

const broken = () => new ConnectError("the connection broke", Code.Aborted);
const refused = () =>
  new ConnectError("http/2 stream closed with error code REFUSED_STREAM", Code.Unavailable);

const idempotentCall: Call = {
  key: undefined,
  isIdempotent: true,
  isWhole: () => true,
  signal: undefined,
  deadline: Number.POSITIVE_INFINITY,
  retryUntil: Number.POSITIVE_INFINITY,
};

test.each<[string, Partial<Call>, () => ConnectError, number]>([
  ["an idempotent call after a broken connection", {}, broken, 2],
  ["any other call after a broken connection", { isIdempotent: false }, broken, 1],
  ["any call after a refused stream", { isIdempotent: false }, refused, 2],
  ["a call whose messages are gone", { isWhole: () => false }, refused, 1],
  ["a call without time", { retryUntil: 0 }, broken, 1],
])("%s", async (_, change, failure, tries) => {
  const call = { ...idempotentCall, ...change };
  let sent = 0;
  const sending = sendCall(
    { servers, budget: createRetryBudget(), tokens: undefined },
    call,
    async () => {
      if (++sent === 1) throw failure();
    },
  );
  if (tries === 1) await expect(sending).rejects.toBeInstanceOf(ConnectError);
  else await sending;
  expect(sent).toBe(tries);
});

test("the first move to another connection waits as long as the server asks", async () => {
  const delayMs = 300;
  const reason = { domain: "meguri", reason: "TOO_MANY_STREAMS" };
  const full = new ConnectError("too many streams", Code.ResourceExhausted, undefined, [
    { desc: ErrorInfoSchema, value: reason },
    { desc: RetryInfoSchema, value: { retryDelay: durationFromMs(delayMs) } },
  ]);
  const sentAt: number[] = [];
  const deps = { servers, budget: createRetryBudget(), tokens: undefined };
  await sendCall(deps, idempotentCall, async () => {
    sentAt.push(performance.now());
    if (sentAt.length === 1) throw full;
  });
  const [first = 0, second = 0] = sentAt;
  // A timer may fire up to one millisecond early.
  expect(second - first).toBeGreaterThanOrEqual(delayMs - 1);
});
