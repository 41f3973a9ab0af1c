/** Serves gRPC calls from Node's core HTTP/2 API, and leaves all else to a request handler. */
import * as http2 from "node:http2";
import { Http2ServerResponse } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Call, Calls } from "../calls.ts";
import type { Methods } from "./methods.ts";
import { closeAnswered, respondUnimplemented } from "./respond.ts";
import { serveServerStream } from "./serve-server-stream.ts";
import { serveUnary } from "./serve-unary.ts";
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
      const serveCall = binaryTypes.has(type) ? serverOf(methods, path) : undefined;
      if (serveCall) {
        serveCall(stream, header, begin(path, header)).catch(() =>
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
    const isOpening = methods.serverStream(header[":path"] ?? "") !== undefined;
    if (isOpening) open(stream, header, ...others);
    else serve(stream, header, ...others);
  };
  server.on("stream", byTurns(serveInTurn));
}

type ServeCall = (
  stream: http2.ServerHttp2Stream,
  header: http2.IncomingHttpHeaders,
  call: Call,
) => Promise<void>;

/** Undefined if the path is of no method whose requests are one message. */
function serverOf(methods: Methods, path: string): ServeCall | undefined {
  const unary = methods.unary(path);
  if (unary) return (...call) => serveUnary(unary, ...call);
  const serverStream = methods.serverStream(path);
  if (!serverStream) return undefined;
  return (stream, ...call) => {
    closeLater(stream, methods.lifeMs(path));
    return serveServerStream(serverStream, stream, ...call);
  };
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
