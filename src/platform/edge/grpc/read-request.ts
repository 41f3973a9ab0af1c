/** Reads the one message of a gRPC request from a stream of Node's core HTTP/2 API. */
import type { ServerHttp2Stream } from "node:http2";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type EnvelopedMessage, envelopeDecompress } from "@connectrpc/connect/protocol";
import { requireOneLongValue } from "../large-bodies.ts";
import { toMalformed } from "../malformed.ts";
import { tooSlow } from "../method-limits.ts";
import type { ReceivedBytes } from "../received-bytes.ts";
import type { Announced } from "./call.ts";
import { createMessageReader, type MessageReader } from "./message-reader.ts";
import type { ServedMethod } from "./methods.ts";

/** The body of a request, as it arrives. */
interface Body {
  readonly stream: ServerHttp2Stream;
  readonly signal: AbortSignal;
  /** Counts the bytes that are held. */
  readonly received: ReceivedBytes | undefined;
  /** How long it may take to arrive; undefined if the signal says so. */
  readonly bodyMs: number | undefined;
}

const kindTexts = { unary: "unary", server_streaming: "server-streaming" } as const;

/** Reads the message of the request. An unreadable message is an INVALID_REQUEST. */
export async function readRequest(
  method: ServedMethod,
  body: Body,
  { timeout, compression }: Announced,
): Promise<MessageShape<DescMessage>> {
  const { limits, spec } = method;
  const { readMaxBytes } = limits;
  try {
    if (compression.error) throw compression.error;
    if (timeout.error) throw timeout.error;
    const reader = createMessageReader(readMaxBytes, kindTexts[spec.kind]);
    const envelope = await readEnvelope(body, reader, () => tooSlow(spec.method));
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
 * of `late` when the body takes too long, and OVERLOADED. Leaves no listener on the stream, which
 * may stay open for long and would keep the body.
 */
async function readEnvelope(
  { stream, signal, received, bodyMs }: Body,
  reader: MessageReader,
  late: () => Error,
): Promise<EnvelopedMessage> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<EnvelopedMessage>();
  const interrupt = () => reject(signal.reason);
  const onData = (chunk: Buffer) => {
    try {
      received?.add(chunk.length);
      reader.push(chunk);
    } catch (error) {
      reject(error);
    }
  };
  const onEnd = () => {
    try {
      resolve(reader.end());
    } catch (error) {
      reject(error);
    }
  };
  const timer = bodyMs === undefined ? undefined : setTimeout(() => reject(late()), bodyMs);
  signal.addEventListener("abort", interrupt);
  stream.on("data", onData);
  stream.once("end", onEnd);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
    stream.off("end", onEnd);
    // The rest of a body that is refused flows on, and is dropped.
    stream.off("data", onData).resume();
    received?.clear();
  }
}
