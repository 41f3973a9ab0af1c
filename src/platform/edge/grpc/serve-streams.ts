/**
 * Serves gRPC calls on Node's core HTTP/2 API, and leaves all else to a request handler. What a
 * stream of answers keeps while it waits for the next message is what thousands of them cost.
 */
import * as http2 from "node:http2";
import { Http2ServerResponse } from "node:http2";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  createAsyncIterable,
  encodeEnvelope,
  envelopeCompress,
  invokeUnaryImplementation,
  transformInvokeImplementation,
} from "@connectrpc/connect/protocol";
import type { Call, Calls } from "../calls.ts";
import { receivedKey, releaseKey } from "../context.ts";
import { toConnectError } from "../errors.ts";
import { timeIsUp } from "../interceptors.ts";
import { limitsOf } from "../method-limits.ts";
import {
  canceled,
  compressMinBytes,
  createContext,
  deadlineExceeded,
  readHeaders,
} from "./call.ts";
import type { Methods, ServedMethod } from "./methods.ts";
import { readRequest } from "./read-request.ts";
import { beginAnswer, closeAnswered, respond, respondUnimplemented } from "./respond.ts";
import { byTurns } from "./turns.ts";

type StreamListener = (
  stream: http2.ServerHttp2Stream,
  header: http2.IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * How many streams of answers begin in one turn, at most. Thousands come back at once when another
 * server has stopped: the other calls are served between them.
 */
const openingsPerTurn = 4;

type RequestHandler = Parameters<typeof http2.createServer>[1];

const grpcType = /^application\/grpc(?:$|[+;])/i;

/** The content types of gRPC with binary messages. */
const binaryTypes: ReadonlySet<string> = new Set(["application/grpc", "application/grpc+proto"]);

/**
 * Serves the streams of `server`: gRPC calls whose requests are one message, and gRPC calls of
 * unknown methods. All other streams (gRPC with uploads or JSON, gRPC-Web, Connect) go to `handle`,
 * by way of a server that never listens: the objects of Node's compatibility API are made for these
 * streams only.
 */
export function serveStreams(
  server: http2.Http2Server | http2.Http2SecureServer,
  methods: Methods,
  handle: RequestHandler,
  calls: Calls,
): void {
  const begin = (path: string, header: http2.IncomingHttpHeaders) =>
    calls.begin(methods.method(path), header.traceparent as string | undefined);
  const rest = http2.createServer({ Http2ServerResponse: UnbufferedResponse }, handle);
  const serve: StreamListener = (stream, header, flags, rawHeaders) => {
    const { ":method": verb, ":path": path = "", "content-type": type = "" } = header;
    // A client that expects "100 Continue" gets it from the compatibility API.
    if (verb === "POST" && header.expect === undefined) {
      const method = binaryTypes.has(type) ? methods.served(path) : undefined;
      if (method) {
        if (method.spec.kind !== "unary") closeLater(stream, methods.lifeMs(path));
        serveCall(method, stream, header, begin(path, header)).catch(() =>
          stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
        );
        return;
      }
      if (grpcType.test(type) && !methods.has(path)) {
        respondUnimplemented(stream, begin(path, header));
        return;
      }
    }
    rest.emit("stream", stream, header, flags, rawHeaders);
    stream.once("wantTrailers", () => closeAnswered(stream));
    closeLater(stream, methods.lifeMs(path));
  };
  const open = byTurns(serve, openingsPerTurn);
  const serveInTurn: StreamListener = (stream, header, ...others) => {
    const isOpening = methods.served(header[":path"] ?? "")?.spec.kind === "server_streaming";
    if (isOpening) open(stream, header, ...others);
    else serve(stream, header, ...others);
  };
  server.on("stream", byTurns(serveInTurn));
}

/**
 * Asks for the admission, reads the message, and sends the answers of interceptors and handler,
 * then the status, or that of the error.
 */
async function serveCall(
  method: ServedMethod,
  stream: http2.ServerHttp2Stream,
  header: http2.IncomingHttpHeaders,
  call: Call,
): Promise<void> {
  const { spec, interceptors } = method;
  const announced = readHeaders(method, header);
  const { timeoutMs, compression } = announced;
  const { timeMs, bodyTimeMs } = limitsOf(spec.method);
  // A stream has the time of its method until it begins, which an interceptor limits.
  const methodMs = spec.kind === "unary" ? timeMs : Number.POSITIVE_INFINITY;
  const isOwn = timeoutMs !== undefined && timeoutMs <= methodMs;
  const limitMs = isOwn ? timeoutMs : methodMs;
  const expired = isOwn ? deadlineExceeded : () => timeIsUp(timeMs);
  const signal = limitStream(method, stream, limitMs, expired);
  const context = createContext(method, stream, header, signal, timeoutMs, call);
  const envelopeOf = (message: MessageShape<DescMessage>) => {
    const envelope = { flags: 0, data: method.serialize(message) };
    const { response } = compression;
    return response ? envelopeCompress(envelope, response, compressMinBytes) : envelope;
  };
  let encoding: string | undefined;
  try {
    await method.gate?.(context);
    const received = context.values.get(receivedKey);
    // The limit of the stream ends a body that is late, unless that of the body is shorter.
    const bodyMs = bodyTimeMs < limitMs ? bodyTimeMs : undefined;
    const request = await readRequest(method, { stream, signal, received, bodyMs }, announced);
    encoding = compression.response?.name;
    if (spec.kind === "unary") {
      const response = await invokeUnaryImplementation(spec, context, request, interceptors);
      respond(stream, context, { encoding, body: await envelopeOf(response) });
    } else {
      const invoke = transformInvokeImplementation(spec, context, interceptors);
      for await (const message of invoke(createAsyncIterable([request]))) {
        const { flags, data } = await envelopeOf(message);
        if (!stream.headersSent) beginAnswer(stream, context, encoding);
        await write(stream, encodeEnvelope(flags, data));
      }
      respond(stream, context, { encoding, isComplete: true });
    }
    call.end();
  } catch (error) {
    call.end(error);
    respond(stream, context, { encoding, error: toConnectError(error) });
  } finally {
    context.values.get(releaseKey)();
  }
}

/**
 * Returns a signal that aborts when the time of a call is over, with the error of `expired`, when
 * the client has left, or when streams of answers end at a shutdown. A client that has not taken
 * the one answer of a call within its time loses it.
 */
function limitStream(
  { spec, shutdownSignal }: ServedMethod,
  stream: http2.ServerHttp2Stream,
  limitMs: number,
  expired: () => Error,
): AbortSignal {
  const controller = new AbortController();
  const isUnary = spec.kind === "unary";
  const isAnswered = () => isUnary && stream.headersSent;
  const expire = () => {
    if (isAnswered()) stream.close(http2.constants.NGHTTP2_CANCEL);
    else controller.abort(expired());
  };
  const timer = Number.isFinite(limitMs) ? setTimeout(expire, limitMs) : undefined;
  if (limitMs <= 0) expire();
  stream.once("close", () => {
    clearTimeout(timer);
    if (!isAnswered()) controller.abort(canceled(stream.rstCode));
  });
  // A stream that breaks is closed as well; without a listener the error would end the process.
  stream.on("error", () => {});
  const { signal } = controller;
  return shutdownSignal && !isUnary ? AbortSignal.any([signal, shutdownSignal]) : signal;
}

/**
 * Resolves when flow control has let the message go, so that a slow reader gets the latest state
 * next and not what was up to date long ago.
 */
function write(stream: http2.ServerHttp2Stream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(canceled(stream.rstCode)) : resolve()));
  });
}

/** Closes a stream that its client keeps open, such as one whose answer it does not read. */
function closeLater(stream: http2.ServerHttp2Stream, lifeMs: number | undefined): void {
  if (lifeMs === undefined) return;
  const close = () => stream.close(http2.constants.NGHTTP2_CANCEL);
  const timer = setTimeout(close, lifeMs);
  stream.once("close", () => clearTimeout(timer));
}

type Written = (error: Error) => void;
type Done = (error?: Error) => void;

/**
 * Node's own takes up to 64 KiB for which the client's window has no room yet. A stream of counts
 * would leave more than a thousand of them there, which a slow reader gets one after another. With
 * this one the server waits, and then takes the latest count.
 */
class UnbufferedResponse extends Http2ServerResponse {
  /** Always asks to wait for "drain", which comes when flow control has let the chunk go. */
  override write(
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | Written,
    callback?: Written,
  ): boolean {
    // It gets no error when the chunk has been sent, whatever Node's type says.
    const written = (typeof encoding === "function" ? encoding : callback) as Done | undefined;
    super.write(chunk, typeof encoding === "string" ? encoding : "utf8", (error?: Error) => {
      // Connect prints an error of any other code, such as that of Node for a write in flight.
      written?.(error && new ConnectError("the client has left", Code.Aborted));
      if (!error) this.emit("drain");
    });
    return false;
  }
}
