/** Answers gRPC calls on streams of Node's core HTTP/2 API. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code, type ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type EnvelopedMessage, encodeEnvelope } from "@connectrpc/connect/protocol";
import {
  contentTypeProto,
  grpcStatusOk,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";

/** What a unary call answers: one message, or an error. */
type Answer = { readonly encoding: string | undefined } & (
  | { readonly body: EnvelopedMessage }
  | { readonly error: ConnectError }
);

/** Sends headers, message and trailers. Does nothing for a client that has left. */
export function respond(stream: ServerHttp2Stream, context: HandlerContext, answer: Answer): void {
  if (stream.closed || stream.destroyed) return;
  const header: OutgoingHttpHeaders = { ":status": 200, "content-type": contentTypeProto };
  if (answer.encoding) header["grpc-encoding"] = answer.encoding;
  copy(context.responseHeader, header);
  const trailer: OutgoingHttpHeaders = { "grpc-status": grpcStatusOk };
  if ("error" in answer) setTrailerStatus(context.responseTrailer, answer.error);
  copy(context.responseTrailer, trailer);
  stream.once("wantTrailers", () => {
    stream.sendTrailers(trailer);
    // Node sends the trailers in its own setImmediate, which runs before this one.
    if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  });
  stream.respond(header, { waitForTrailers: true });
  if ("body" in answer) {
    stream.end(encodeEnvelope(answer.body.flags, answer.body.data));
    return;
  }
  // Drops what has not been read of the request, so that the stream can end.
  stream.resume();
  stream.end();
}

/** Answers a call of a method that does not exist by one frame, as gRPC wants it. */
export function respondUnimplemented(stream: ServerHttp2Stream): void {
  stream.on("error", () => {});
  stream.respond(
    {
      ":status": 200,
      "content-type": contentTypeProto,
      "grpc-status": String(Code.Unimplemented),
      "grpc-message": encodeURIComponent("there is no such service or method"),
    },
    { endStream: true },
  );
}

function copy(from: Headers, to: OutgoingHttpHeaders): void {
  from.forEach((value, name) => {
    to[name] = value;
  });
}
