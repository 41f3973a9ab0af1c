/**
 * Bounds what there is to parse in a large body. To parse many small fields stops the event loop
 * for long, so beside one long value, such as a sheet, a body has no more than the default limit.
 */
import { setImmediate } from "node:timers/promises";
import { type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import {
  type Compression,
  pipe,
  readAllBytes,
  transformDecompressEnvelope,
  transformJoinEnvelopes,
  transformSplitEnvelope,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";
import { compressions } from "./compressions.ts";
import { toConnectError } from "./errors.ts";
import { defaultBodyLimit, limitsOf, tooManyFields } from "./method-limits.ts";

/** Whether a message of the method may be larger than most. */
const takesLargeBodies = (method: DescMethod): boolean =>
  method.methodKind === "unary" && limitsOf(method).bodyBytes > defaultBodyLimit;

/** Checks a message before it is parsed. Throws REQUEST_TOO_LARGE. */
export function requireOneLongValue(method: DescMethod, message: Uint8Array, isJson = false): void {
  if (message.byteLength <= defaultBodyLimit) return;
  const longest = isJson ? longestString(message) : longestScalar(method, message);
  if (message.byteLength - longest > defaultBodyLimit) throw tooManyFields();
}

/**
 * The bytes of the longest text or bytes among the fields of a Protobuf message. Stops when the
 * other fields have more than the default limit.
 */
function longestScalar({ input }: DescMethod, message: Uint8Array): number {
  const scalars = new Set(
    input.fields.flatMap(({ number, scalar }) =>
      scalar === ScalarType.BYTES || scalar === ScalarType.STRING ? [number] : [],
    ),
  );
  let longest = 0;
  const reader = new BinaryReader(message);
  try {
    while (reader.pos < reader.len && reader.pos - longest <= defaultBodyLimit) {
      const [number, type] = reader.tag();
      const start = reader.pos;
      reader.skip(type, number);
      const isScalar = type === WireType.LengthDelimited && scalars.has(number);
      if (isScalar) longest = Math.max(longest, reader.pos - start);
    }
  } catch {
    // The parser refuses invalid bytes. It stops where the reader has stopped.
    return message.byteLength;
  }
  return longest;
}

/**
 * The bytes of the longest text in JSON, as base64 has it: without escapes and without what could
 * begin a list or an object. Stops when the rest has more than the default limit.
 */
function longestString(bytes: Uint8Array): number {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let longest = 0;
  for (let at = 0; at >= 0 && at - longest <= defaultBodyLimit; ) {
    const quote = json.indexOf('"', at);
    const end = quote < 0 ? -1 : json.indexOf('"', quote + 1);
    if (end < 0) break;
    const text = json.subarray(quote, end);
    const isPlain = ["\\", ",", "[", "{"].every((character) => !text.includes(character));
    if (isPlain) longest = Math.max(longest, text.byteLength);
    at = end + 1;
  }
  return longest;
}

/**
 * The request of a unary method with a body that throws REQUEST_TOO_LARGE instead of what should
 * not be parsed. A body that needs no check stays as it is.
 */
export function checkBody(
  method: DescMethod,
  request: UniversalServerRequest,
): UniversalServerRequest {
  const type = request.header.get("content-type") ?? "";
  const isJson = /json(;|$)/i.test(type);
  const isPost = request.method === "POST";
  if (!isPost || !takesLargeBodies(method)) return request;
  const check = (message: Uint8Array) => {
    try {
      requireOneLongValue(method, message, isJson);
    } catch (error) {
      throw toConnectError(error);
    }
  };
  const body = request.body as AsyncIterable<Uint8Array>;
  const limit = limitsOf(method).bodyBytes;
  if (/^application\/grpc/i.test(type)) {
    const compression = compressionOf(request.header.get("grpc-encoding"));
    return { ...request, body: checkEnvelopes(body, compression, limit, check) };
  }
  const header = new Headers(request.header);
  const compression = compressionOf(header.get("content-encoding"));
  const length = header.get("content-length");
  // It is inflated here. An unknown compression stays, and is refused.
  if (compression) header.delete("content-encoding");
  header.delete("content-length");
  return { ...request, header, body: checkWhole(body, length, compression, limit, check) };
}

const compressionOf = (encoding: string | null): Compression | null =>
  compressions.find(({ name }) => name === encoding) ?? null;

async function* checkWhole(
  body: AsyncIterable<Uint8Array>,
  length: string | null,
  compression: Compression | null,
  limit: number,
  check: (message: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void> {
  const bytes = await readAllBytes(body, limit, length);
  const message = compression ? await compression.decompress(bytes, limit) : bytes;
  check(message);
  await nextTurnIfLarge(message);
  yield message;
}

/** To check a large body, and to parse it, take a turn of the event loop each. */
async function nextTurnIfLarge(message: Uint8Array): Promise<void> {
  if (message.byteLength > defaultBodyLimit) await setImmediate();
}

const checkEnvelopes = (
  body: AsyncIterable<Uint8Array>,
  compression: Compression | null,
  limit: number,
  check: (message: Uint8Array) => void,
): AsyncIterable<Uint8Array> =>
  pipe(
    body,
    transformSplitEnvelope(limit),
    transformDecompressEnvelope(compression, limit),
    async function* (envelopes) {
      for await (const envelope of envelopes) {
        check(envelope.data);
        await nextTurnIfLarge(envelope.data);
        yield envelope;
      }
    },
    transformJoinEnvelopes(),
  );
