/** Tests that a call is sent again only if that is safe. */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type Call, sendCall } from "../../packages/client/src/call.ts";
import { createRetryBudget } from "../../packages/client/src/retry-policy.ts";
import type { Server, Servers } from "../../packages/client/src/servers.ts";

const server = { id: "s", connection: { isReady: () => true } } as Server;
const servers = {
  pick: () => server,
  hasOther: () => false,
  isClosed: () => false,
} as unknown as Servers;

const broken = () => new ConnectError("the connection broke", Code.Aborted);
const refused = () =>
  new ConnectError("http/2 stream closed with error code REFUSED_STREAM", Code.Unavailable);

test.each<[string, Partial<Call>, () => ConnectError, number]>([
  ["an idempotent call after a broken connection", {}, broken, 2],
  ["any other call after a broken connection", { isIdempotent: false }, broken, 1],
  ["any call after a refused stream", { isIdempotent: false }, refused, 2],
  ["a call whose messages are gone", { isWhole: () => false }, refused, 1],
  ["a call without time", { retryUntil: 0 }, broken, 1],
])("%s", async (_, change, failure, tries) => {
  const call: Call = {
    key: undefined,
    isIdempotent: true,
    isWhole: () => true,
    signal: undefined,
    deadline: Number.POSITIVE_INFINITY,
    retryUntil: Number.POSITIVE_INFINITY,
    ...change,
  };
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
