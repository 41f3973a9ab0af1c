/** Serves one unary gRPC call on a stream of Node's core HTTP/2 API. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { envelopeCompress, invokeUnaryImplementation } from "@connectrpc/connect/protocol";
import type { Call } from "../calls.ts";
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
import type { UnaryMethod } from "./methods.ts";
import { readRequest } from "./read-request.ts";
import { respond } from "./respond.ts";

/** Answers the call, or refuses it with the status of its error. */
export async function serveUnary(
  method: UnaryMethod,
  stream: ServerHttp2Stream,
  header: IncomingHttpHeaders,
  call: Call,
): Promise<void> {
  const { spec, interceptors } = method;
  const announced = readHeaders(method, header);
  const { timeoutMs, compression } = announced;
  const { timeMs, bodyTimeMs } = limitsOf(spec.method);
  const isOwn = timeoutMs !== undefined && timeoutMs <= timeMs;
  const limitMs = isOwn ? timeoutMs : timeMs;
  const signal = limitStream(stream, limitMs, isOwn ? deadlineExceeded : () => timeIsUp(timeMs));
  const context = createContext(method, stream, header, signal, timeoutMs, call);
  let encoding: string | undefined;
  try {
    await method.gate?.(context);
    const received = context.values.get(receivedKey);
    // The limit of the stream ends a body that is late, unless that of the body is shorter.
    const bodyMs = bodyTimeMs < limitMs ? bodyTimeMs : undefined;
    const request = await readRequest(method, { stream, signal, received, bodyMs }, announced);
    encoding = compression.response?.name;
    const response = await invokeUnaryImplementation(spec, context, request, interceptors);
    const envelope = { flags: 0, data: method.serialize(response) };
    const body = compression.response
      ? await envelopeCompress(envelope, compression.response, compressMinBytes)
      : envelope;
    respond(stream, context, { encoding, body });
    call.end();
  } catch (error) {
    call.end(error);
    respond(stream, context, { encoding, error: toConnectError(error) });
  } finally {
    context.values.get(releaseKey)();
  }
}

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
