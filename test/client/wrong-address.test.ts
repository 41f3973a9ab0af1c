/** Tests that a client says what is wrong with its address: another port, or another scheme. */
import { once } from "node:events";
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2, createSecureServer as createHttp2s } from "node:http2";
import { createServer as createHttp1s } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createMeguri,
  isWrongAddress,
  type MeguriOptions,
} from "../../packages/client/src/index.ts";
import { createAuthority, loopbackNames } from "../support/fixtures/certificates.ts";

const notFound = (_: unknown, response: { writeHead(status: number): { end(): void } }) =>
  response.writeHead(404).end();

const servers: Record<string, Server> = {};
const portOf = (name: string) => ((servers[name] as Server).address() as AddressInfo).port;
let ca: string;

beforeAll(async () => {
  const authority = await createAuthority("Meguri test");
  ca = authority.cert;
  const certificate = await authority.issue(loopbackNames);
  servers["HTTP/1.1"] = createHttp1(notFound);
  servers["HTTP/2"] = createHttp2(notFound as never);
  servers["HTTP/1.1 with TLS"] = createHttp1s(certificate, notFound);
  servers["HTTP/2 with TLS"] = createHttp2s(certificate, notFound as never);
  servers.nothing = createTcp((socket) => socket.destroy());
  for (const server of Object.values(servers)) {
    await once(server.listen(0, "127.0.0.1"), "listening");
  }
});
afterAll(() => {
  for (const server of Object.values(servers)) server.close();
});

/** The error of a call. Without a wrong address, one of a server that is no Meguri. */
async function errorOf(name: string, scheme: string, more: Partial<MeguriOptions>) {
  const url = `${scheme}://127.0.0.1:${portOf(name)}`;
  const client = createMeguri({ url, caller: "tests", tls: { ca }, ...more });
  const error = await client.points.getBalance({ userId: "u" }).catch((thrown: unknown) => thrown);
  client.close();
  return error;
}

const grpc = {};
const http1 = { transport: "connect", httpVersion: "1.1" } as const;
const needsHttp2 = "this is an HTTP/1.1 port; gRPC needs the HTTP/2 port";
const needsHttp1 = "this is the HTTP/2 port; HTTP/1.1 needs the other one";
const needsTls = "this server speaks TLS, so its URL begins with https://";
const needsNoTls = "this server speaks no TLS, so its URL begins with http://";

test.each([
  ["gRPC", "http", "HTTP/1.1", grpc, needsHttp2],
  ["gRPC", "https", "HTTP/1.1 with TLS", grpc, needsHttp2],
  ["gRPC", "https", "HTTP/1.1", grpc, needsNoTls],
  ["gRPC", "https", "HTTP/2", grpc, needsNoTls],
  ["gRPC", "http", "HTTP/1.1 with TLS", grpc, needsTls],
  ["gRPC", "http", "HTTP/2 with TLS", grpc, needsTls],
  ["Connect on HTTP/1.1", "http", "HTTP/2", http1, needsHttp1],
  ["Connect on HTTP/1.1", "https", "HTTP/2", http1, needsNoTls],
  ["Connect on HTTP/1.1", "https", "HTTP/1.1", http1, needsNoTls],
  ["Connect on HTTP/1.1", "http", "HTTP/1.1 with TLS", http1, needsTls],
  ["Connect on HTTP/1.1", "http", "HTTP/2 with TLS", http1, needsTls],
])("%s, %s:// and a port of %s", async (_, scheme, name, options, text) => {
  const error = await errorOf(name, scheme, options);
  expect(isWrongAddress(error)).toBe(true);
  expect(error).toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: expect.stringContaining(`wrong address 127.0.0.1:${portOf(name)}: ${text}`),
  });
});

test.each([
  ["gRPC", "http", "HTTP/2", grpc],
  ["gRPC", "https", "HTTP/2 with TLS", grpc],
  ["Connect on HTTP/1.1", "https", "HTTP/1.1 with TLS", http1],
  ["gRPC", "http", "nothing", { timeoutMs: 200 }],
  ["gRPC", "https", "nothing", { timeoutMs: 200 }],
])("not %s, %s:// and a port of %s", async (_, scheme, name, options) => {
  const error = await errorOf(name, scheme, options);
  expect(error).toBeInstanceOf(ConnectError);
  expect(isWrongAddress(error)).toBe(false);
});
