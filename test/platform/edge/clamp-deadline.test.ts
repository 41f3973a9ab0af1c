/** Tests that a deadline which no timer can hold is shortened. */
import { createClient, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { maxTimeoutMs } from "../../../src/platform/edge/context.ts";
import { noteRead, noteUnread, refuseMalformed } from "../../../src/platform/edge/malformed.ts";
import { startMemoryServer } from "../../support/servers/server.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ["application/grpc", { "grpc-timeout": "99999999H" }],
  ["application/grpc-web", { "grpc-timeout": "99999999H" }],
  ["application/proto", { "connect-timeout-ms": "9999999999" }],
])("over %s, while it is found out who calls", async (type, timeout) => {
  const router = createConnectRouter({
    maxTimeoutMs,
    interceptors: [noteRead],
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
    body: (async function* () {
      // An empty message.
      if (type.includes("grpc")) yield new Uint8Array(5);
    })(),
    signal: new AbortController().signal,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body ?? []) chunks.push(chunk);
  const status = answer.trailer?.get("grpc-status");
  const text = `${Buffer.concat(chunks)} grpc-status: ${status}`;
  expect([answer.status, text]).toEqual([200, expect.not.stringMatching(/grpc-status: ?[1-9]/)]);
});

test.each([
  ["gRPC", (port: number) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` })],
  [
    "Connect",
    (_: number, port: number) =>
      createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" }),
  ],
])("a server takes a call with two hours over %s", async (_, connect) => {
  vi.useRealTimers();
  const server = await startMemoryServer();
  onTestFinished(() => server.stop());
  const client = createClient(PointsService, connect(server.port, server.http1Port));
  const options = { timeoutMs: 7_200_000, headers: { "meguri-caller": "tests" } };
  await client.getBalance({ userId: "u" }, options);
});
