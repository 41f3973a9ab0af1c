/**
 * Serves one gRPC call with a stream of answers on a stream of Node's core HTTP/2 API. What it
 * keeps while it waits for the next message is what thousands of open streams cost.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import {
  createAsyncIterable,
  encodeEnvelope,
  envelopeCompress,
  transformInvokeImplementation,
} from "@connectrpc/connect/protocol";
import type { Call } from "../calls.ts";
import { receivedKey, releaseKey } from "../context.ts";
import { toConnectError } from "../errors.ts";
import { limitsOf } from "../method-limits.ts";
import {
  canceled,
  compressMinBytes,
  createContext,
  deadlineExceeded,
  readHeaders,
} from "./call.ts";
import type { ServerStreamMethod } from "./methods.ts";
import { readRequest } from "./read-request.ts";
import { beginAnswer, respond } from "./respond.ts";

/** Sends the messages of the call, then its status, or that of its error. */
export async function serveServerStream(
  method: ServerStreamMethod,
  stream: ServerHttp2Stream,
  header: IncomingHttpHeaders,
  call: Call,
): Promise<void> {
  const { spec, interceptors } = method;
  const announced = readHeaders(method, header);
  const { timeoutMs, compression } = announced;
  const encoding = compression.response?.name;
  const signal = signalOf(method, stream, timeoutMs);
  const context = createContext(method, stream, header, signal, timeoutMs, call);
  try {
    await method.gate?.(context);
    const received = context.values.get(receivedKey);
    const bodyMs = limitsOf(spec.method).bodyTimeMs;
    const request = await readRequest(method, { stream, signal, received, bodyMs }, announced);
    const invoke = transformInvokeImplementation(spec, context, interceptors);
    for await (const message of invoke(createAsyncIterable([request]))) {
      const envelope = { flags: 0, data: method.serialize(message) };
      const { flags, data } = compression.response
        ? await envelopeCompress(envelope, compression.response, compressMinBytes)
        : envelope;
      if (!stream.headersSent) beginAnswer(stream, context, encoding);
      await write(stream, encodeEnvelope(flags, data));
    }
    respond(stream, context, { encoding, isComplete: true });
    call.end();
  } catch (error) {
    call.end(error);
    respond(stream, context, { encoding, error: toConnectError(error) });
  } finally {
    context.values.get(releaseKey)();
  }
}

/** A signal that aborts at the client's deadline, when the stream is closed, or at a shutdown. */
function signalOf(
  { shutdownSignal }: ServerStreamMethod,
  stream: ServerHttp2Stream,
  timeoutMs: number | undefined,
): AbortSignal {
  const controller = new AbortController();
  const expire = () => controller.abort(deadlineExceeded());
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
  stream.once("close", () => {
    clearTimeout(timer);
    controller.abort(canceled(stream.rstCode));
  });
  // A stream that breaks is closed as well; without a listener the error would end the process.
  stream.on("error", () => {});
  return shutdownSignal ? AbortSignal.any([controller.signal, shutdownSignal]) : controller.signal;
}

/**
 * Resolves when flow control has let the message go, so that a slow reader gets the latest state
 * next and not what was up to date long ago.
 */
function write(stream: ServerHttp2Stream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(canceled(stream.rstCode)) : resolve()));
  });
}
