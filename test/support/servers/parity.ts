/**
 * Sends a gRPC call to the server's own implementation and to connect-node, and compares the
 * answers. A path with a query, which connect-node ignores, goes to connect-node.
 */
import type { ClientHttp2Session } from "node:http2";
import { expect } from "vitest";
import { type RawCall, send } from "./raw-grpc.ts";

/** Returns the headers and trailers that both answered with. */
export async function expectSame(
  session: ClientHttp2Session,
  call: RawCall,
): Promise<Record<string, unknown>> {
  const own = await send(session, call);
  const connectNode = await send(session, { ...call, path: `${call.path}?` });
  for (const { body, headers } of [own, connectNode]) {
    // Each answer has its own.
    expect(headers["x-request-id"]).toBeTypeOf("string");
    delete headers["x-request-id"];
    // It says nothing about an answer without a message.
    if (body === "") delete headers["grpc-encoding"];
  }
  expect(own).toEqual(connectNode);
  const { ":status": _, ...headers } = own.headers;
  return { ...headers, ...own.trailers };
}
