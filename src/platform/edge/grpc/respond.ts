/** Answers gRPC calls on streams of Node's core HTTP/2 API. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type EnvelopedMessage, encodeEnvelope } from "@connectrpc/connect/protocol";
import {
  contentTypeProto,
  grpcStatusOk,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import { type Call, requestIdHeader } from "../calls.ts";
import { requestIdOf } from "../context.ts";

/** The end of an answer: an error, the last or only message, or no further message. */
type Answer = { readonly encoding: string | undefined } & (
  | { readonly error: ConnectError }
  | { readonly body: EnvelopedMessage }
  | { readonly isComplete: true }
);

/** Sends the headers. Messages may then be written to the stream. */
export function beginAnswer(
  stream: ServerHttp2Stream,
  context: HandlerContext,
  encoding: string | undefined,
): void {
  const header: OutgoingHttpHeaders = { ":status": 200, "content-type": contentTypeProto };
  if (encoding) header["grpc-encoding"] = encoding;
  header[requestIdHeader] = requestIdOf(context);
  copy(context.responseHeader, header);
  stream.respond(header, { waitForTrailers: true });
}

/**
 * Sends the headers, if they were not sent yet, the message, and the trailers. Does nothing for a
 * client that has left.
 */
export function respond(stream: ServerHttp2Stream, context: HandlerContext, answer: Answer): void {
  if (stream.closed || stream.destroyed) return;
  const trailer: OutgoingHttpHeaders = { "grpc-status": grpcStatusOk };
  if ("error" in answer) setTrailerStatus(context.responseTrailer, answer.error);
  copy(context.responseTrailer, trailer);
  stream.once("wantTrailers", () => {
    stream.sendTrailers(trailer);
    closeAnswered(stream);
  });
  if (!stream.headersSent) beginAnswer(stream, context, answer.encoding);
  if ("body" in answer) stream.end(encodeEnvelope(answer.body.flags, answer.body.data));
  else stream.end();
}

/** In this time the rest of an answered request may come, and is dropped. */
const lingerMs = 200;

/**
 * Closes a stream that was answered before the end of its request, such as one that was refused, if
 * the request does not end soon: otherwise its client could go on sending. Not at once, because
 * Node's HTTP/2 client counts what it had not sent of a stream that was reset as memory of its
 * connection for ever, and loses all answers on that connection after 10 MB.
 */
export function closeAnswered(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.destroyed) return;
  stream.removeAllListeners("data").resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), lingerMs);
  stream.once("close", () => clearTimeout(timer));
}

/** Answers a call of a method that does not exist by one frame, as gRPC wants it. */
export function respondUnimplemented(stream: ServerHttp2Stream, call: Call): void {
  call.end(new ConnectError("there is no such method", Code.Unimplemented));
  stream.on("error", () => {});
  stream.respond(
    {
      ":status": 200,
      "content-type": contentTypeProto,
      [requestIdHeader]: call.requestId,
      "grpc-status": String(Code.Unimplemented),
      "grpc-message": encodeURIComponent("there is no such service or method"),
    },
    { endStream: true },
  );
  closeAnswered(stream);
}

function copy(from: Headers, to: OutgoingHttpHeaders): void {
  from.forEach((value, name) => {
    to[name] = value;
  });
}
