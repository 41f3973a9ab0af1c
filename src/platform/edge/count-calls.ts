/** Begins and ends the calls that connect-node serves, unknown paths included. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import { DomainError } from "../words/errors.ts";
import { type Call, type Calls, requestIdHeader } from "./calls.ts";
import type { Methods } from "./grpc/methods.ts";

type Handle = ReturnType<typeof connectNodeAdapter>;
type Request = IncomingMessage | Http2ServerRequest;

/** Returns the handler, and a function that finds the call of a request. */
export function countCalls(calls: Calls, methods: Methods, handle: Handle) {
  const begun = new WeakMap<Request, Call>();
  const counting: Handle = (request, response) => {
    // A preflight of a browser is no call.
    if (request.method !== "OPTIONS") {
      const { traceparent } = request.headers as { readonly traceparent?: string };
      const call = calls.begin(methods.method(request.url ?? ""), traceparent);
      begun.set(request, call);
      response.setHeader(requestIdHeader, call.requestId);
      response.once("close", () => {
        if (!response.writableEnded) call.end(clientLeft());
        else if (call.hasResult) call.end();
        else call.end(refusedBy(response.statusCode));
      });
    }
    handle(request, response);
  };
  return { handle: counting, callOf: (request: Request) => begun.get(request) };
}

const clientLeft = () => new ConnectError("the client has left", Code.Canceled);

/** The error of a request that connect-node refuses: its path, HTTP method or content type. */
const refusedBy = (status: number) =>
  status === 400
    ? new DomainError("INVALID_REQUEST", "the request has a bad host")
    : new ConnectError("there is no such method", Code.Unimplemented);
