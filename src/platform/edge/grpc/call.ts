/** Reads the headers of a gRPC call, and makes its context for interceptors and handlers. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import { headerAcceptEncoding, parseTimeout } from "@connectrpc/connect/protocol-grpc";
import { type Call, callKey } from "../calls.ts";
import { compressions } from "../compressions.ts";
import { socketKey } from "../context.ts";
import type { ServedMethod } from "./methods.ts";

/** The smallest message that is compressed, in bytes; that of Connect. */
export const compressMinBytes = 1_024;

/** The timeout and the compression that the headers of a request announce. */
export interface Announced {
  readonly timeout: ReturnType<typeof parseTimeout>;
  /** The time that the call has by its own header, in ms; undefined without a valid one. */
  readonly timeoutMs: number | undefined;
  readonly compression: ReturnType<typeof compressionNegotiate>;
}

/** Reads the headers. Their errors are part of the result, and are thrown by `readRequest`. */
export function readHeaders({ limits }: ServedMethod, header: IncomingHttpHeaders): Announced {
  const own = parseTimeout(headerOf(header, "grpc-timeout"), Number.POSITIVE_INFINITY);
  const timeout = own.timeoutMs ? { timeoutMs: Math.min(own.timeoutMs, limits.maxTimeoutMs) } : own;
  const compression = compressionNegotiate(
    compressions,
    headerOf(header, "grpc-encoding"),
    headerOf(header, "grpc-accept-encoding"),
    headerAcceptEncoding,
  );
  return { timeout, timeoutMs: timeout.error ? undefined : timeout.timeoutMs, compression };
}

const headerOf = (header: IncomingHttpHeaders, name: string): string | null =>
  (header[name] as string | undefined) ?? null;

/** The headers without pseudo-headers such as `:path`; the values of one name are joined. */
function headersOf(header: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(header)) {
    if (!name.startsWith(":")) headers.append(name, [value].flat().join(", "));
  }
  return headers;
}

export const deadlineExceeded = () =>
  new ConnectError("the operation timed out", Code.DeadlineExceeded);

/** The error of a call whose client has left. */
export const canceled = (code: number | undefined) =>
  new ConnectError(`the client closed the stream with code ${code}`, Code.Canceled);

export function createContext(
  { spec: { method } }: ServedMethod,
  stream: ServerHttp2Stream,
  header: IncomingHttpHeaders,
  signal: AbortSignal,
  timeoutMs: number | undefined,
  call: Call,
): HandlerContext {
  const end = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  const socket = stream.session?.socket as Socket | undefined;
  return {
    service: method.parent,
    method,
    signal,
    timeoutMs: () => (end === undefined ? undefined : end - performance.now()),
    protocolName: "grpc",
    requestMethod: "POST",
    url: `${header[":scheme"]}://${header[":authority"]}${header[":path"]}`,
    requestHeader: headersOf(header),
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    values: createContextValues().set(socketKey, socket).set(callKey, call),
  };
}
