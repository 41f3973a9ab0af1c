/** Tests that a deadline which no timer can hold is refused for what it is. */
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { maxTimeoutMs } from "../../../src/rpc/server/context.ts";
import { noteUnread, refuseMalformed } from "../../../src/rpc/server/malformed.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ["application/grpc", { "grpc-timeout": "99999999H" }],
  ["application/grpc-web", { "grpc-timeout": "99999999H" }],
  ["application/proto", { "connect-timeout-ms": "9999999999" }],
])("over %s, while it is found out who calls", async (type, timeout) => {
  const router = createConnectRouter({
    maxTimeoutMs,
    requestGate: async (context) => {
      await vi.advanceTimersByTimeAsync(1_000);
      noteUnread(context);
    },
  });
  refuseMalformed((each) => each.service(PointsService, { getBalance: () => ({}) }))(router);
  const handler = router.handlers.find(({ method }) => method.name === "GetBalance");
  const answer = await (handler as UniversalHandler)({
    httpVersion: "2",
    method: "POST",
    url: "http://localhost/",
    header: new Headers({ ...timeout, "content-type": type }),
    body: (async function* () {})(),
    signal: new AbortController().signal,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body ?? []) chunks.push(chunk);
  const status = answer.trailer?.get("grpc-status");
  const text = `${Buffer.concat(chunks)} grpc-status: ${status}`;
  expect(text).toMatch(/grpc-status: ?3|"code":"invalid_argument"/);
});
