/** Serves one unary gRPC call on a stream of Node's core HTTP/2 API. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type HandlerContext } from "@connectrpc/connect";
import {
  compressionNegotiate,
  type EnvelopedMessage,
  envelopeCompress,
  envelopeDecompress,
  invokeUnaryImplementation,
} from "@connectrpc/connect/protocol";
import { headerAcceptEncoding, parseTimeout } from "@connectrpc/connect/protocol-grpc";
import { compressions } from "../compressions.ts";
import { receivedKey, releaseKey, socketKey } from "../context.ts";
import { toConnectError } from "../errors.ts";
import { timeIsUp } from "../interceptors.ts";
import { requireOneLongValue } from "../large-bodies.ts";
import { toMalformed } from "../malformed.ts";
import { limitsOf, tooSlow } from "../method-limits.ts";
import type { ReceivedBytes } from "../received-bytes.ts";
import { createMessageReader } from "./message-reader.ts";
import type { UnaryMethod } from "./methods.ts";
import { requestHeaders } from "./request-headers.ts";
import { respond } from "./respond.ts";

/** The smallest message that is compressed, in bytes; that of Connect. */
const compressMinBytes = 1_024;

/** Answers the call, or refuses it with the status of its error. */
export async function serveUnary(
  method: UnaryMethod,
  stream: ServerHttp2Stream,
  header: IncomingHttpHeaders,
): Promise<void> {
  const { spec, interceptors, limits } = method;
  const timeout = parseTimeout(headerOf(header, "grpc-timeout"), limits.maxTimeoutMs);
  const timeoutMs = timeout.error ? undefined : timeout.timeoutMs;
  const compression = compressionNegotiate(
    compressions,
    headerOf(header, "grpc-encoding"),
    headerOf(header, "grpc-accept-encoding"),
    headerAcceptEncoding,
  );
  const { timeMs, bodyTimeMs } = limitsOf(spec.method);
  const isOwn = timeoutMs !== undefined && timeoutMs <= timeMs;
  const limitMs = isOwn ? timeoutMs : timeMs;
  const signal = limitStream(stream, limitMs, isOwn ? deadlineExceeded : () => timeIsUp(timeMs));
  const context = createContext(spec.method, stream, header, signal, timeoutMs);
  let encoding: string | undefined;
  try {
    await method.gate?.(context);
    const received = context.values.get(receivedKey);
    // The limit of the stream ends a body that is late, unless that of the body is shorter.
    const bodyMs = bodyTimeMs < limitMs ? bodyTimeMs : undefined;
    const incoming = { stream, signal, received, bodyMs };
    const request = await readRequest(method, incoming, { timeout, compression });
    encoding = compression.response?.name;
    const response = await invokeUnaryImplementation(spec, context, request, interceptors);
    const envelope = { flags: 0, data: method.serialize(response) };
    const body = compression.response
      ? await envelopeCompress(envelope, compression.response, compressMinBytes)
      : envelope;
    respond(stream, context, { encoding, body });
  } catch (error) {
    respond(stream, context, { encoding, error: toConnectError(error) });
  } finally {
    context.values.get(releaseKey)();
  }
}

const headerOf = (header: IncomingHttpHeaders, name: string): string | null =>
  (header[name] as string | undefined) ?? null;

/**
 * Bounds the life of a stream. Returns a signal that aborts when this time is over, with the error
 * of `expired`, or when the client has left. A client that has not taken the answer by then loses
 * it.
 */
function limitStream(
  stream: ServerHttp2Stream,
  limitMs: number,
  expired: () => Error,
): AbortSignal {
  const controller = new AbortController();
  const expire = () => {
    if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
    else controller.abort(expired());
  };
  const timer = setTimeout(expire, limitMs);
  if (limitMs <= 0) expire();
  stream.once("close", () => {
    clearTimeout(timer);
    if (!stream.headersSent) controller.abort(canceled(stream.rstCode));
  });
  // A stream that breaks is closed as well; without a listener the error would end the process.
  stream.on("error", () => {});
  return controller.signal;
}

const deadlineExceeded = () => new ConnectError("the operation timed out", Code.DeadlineExceeded);

const canceled = (code: number | undefined) =>
  new ConnectError(`the client closed the stream with code ${code}`, Code.Canceled);

function createContext(
  method: UnaryMethod["spec"]["method"],
  stream: ServerHttp2Stream,
  header: IncomingHttpHeaders,
  signal: AbortSignal,
  timeoutMs: number | undefined,
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
    requestHeader: requestHeaders(header),
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    values: createContextValues().set(socketKey, socket),
  };
}

/** What the headers of a request say about its body. */
interface Announced {
  readonly timeout: ReturnType<typeof parseTimeout>;
  readonly compression: ReturnType<typeof compressionNegotiate>;
}

/** The body of a request, as it arrives. */
interface Body {
  readonly stream: ServerHttp2Stream;
  readonly signal: AbortSignal;
  /** Counts the bytes that are held. */
  readonly received: ReceivedBytes | undefined;
  /** How long it may take to arrive; undefined if the signal says so. */
  readonly bodyMs: number | undefined;
}

/** Reads the message of the request. What cannot be read is an INVALID_REQUEST. */
async function readRequest(
  method: UnaryMethod,
  body: Body,
  { timeout, compression }: Announced,
): Promise<MessageShape<DescMessage>> {
  const { limits, spec } = method;
  const { readMaxBytes } = limits;
  try {
    if (compression.error) throw compression.error;
    if (timeout.error) throw timeout.error;
    const envelope = await readEnvelope(body, readMaxBytes, () => tooSlow(spec.method));
    const { data } =
      envelope.flags === 0
        ? envelope
        : await envelopeDecompress(envelope, compression.request, readMaxBytes);
    requireOneLongValue(spec.method, data);
    return method.parse(data);
  } catch (error) {
    throw toMalformed(error, spec.method) ?? error;
  }
}

/**
 * Reads the body. Throws the signal's reason when it aborts before the body is complete, the error
 * of `late` when the body takes too long, and OVERLOADED.
 */
async function readEnvelope(
  { stream, signal, received, bodyMs }: Body,
  readMaxBytes: number,
  late: () => Error,
): Promise<EnvelopedMessage> {
  signal.throwIfAborted();
  const reader = createMessageReader(readMaxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<EnvelopedMessage>();
  const fail = (error: unknown) => {
    // The rest of the body flows on, and is dropped.
    stream.removeAllListeners("data");
    reject(error);
  };
  const interrupt = () => fail(signal.reason);
  const timer = bodyMs === undefined ? undefined : setTimeout(() => fail(late()), bodyMs);
  signal.addEventListener("abort", interrupt);
  stream.on("data", (chunk: Buffer) => {
    try {
      received?.add(chunk.length);
      reader.push(chunk);
    } catch (error) {
      fail(error);
    }
  });
  stream.once("end", () => {
    signal.removeEventListener("abort", interrupt);
    try {
      resolve(reader.end());
    } catch (error) {
      fail(error);
    }
  });
  return promise.finally(() => {
    clearTimeout(timer);
    received?.clear();
  });
}
