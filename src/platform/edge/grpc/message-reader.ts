/** Reads the one message of a request from the chunks of its body. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { EnvelopedMessage } from "@connectrpc/connect/protocol";

/** The flags and the length that precede a message. */
const prefixBytes = 5;

type MethodKind = "unary" | "server-streaming";

export interface MessageReader {
  /** Throws a ConnectError as soon as the body is known to be wrong. */
  push(chunk: Buffer): void;
  /** Returns the message of a body that is complete, still compressed if it was. */
  end(): EnvelopedMessage;
}

/**
 * The memory follows the bytes that arrived, not the length that a client announces. Errors name
 * the kind of the method as those of Connect do.
 */
export function createMessageReader(readMaxBytes: number, kind: MethodKind): MessageReader {
  let message: EnvelopedMessage | undefined;
  let buffered = Buffer.alloc(0);
  let used = 0;

  function push(chunk: Buffer): void {
    if (used === 0 && lengthOf(chunk) === chunk.length - prefixBytes) {
      take(chunk);
      return;
    }
    append(chunk);
    let length = lengthOf(buffered.subarray(0, used));
    while (length !== undefined && used >= prefixBytes + length) {
      const end = prefixBytes + length;
      take(buffered.subarray(0, end));
      buffered = buffered.subarray(end);
      used -= end;
      length = lengthOf(buffered.subarray(0, used));
    }
  }

  /** The length that a prefix announces; undefined while the prefix is incomplete. */
  function lengthOf(bytes: Buffer): number | undefined {
    if (bytes.length < prefixBytes) return undefined;
    const length = bytes.readUInt32BE(1);
    if (length <= readMaxBytes) return length;
    throw new ConnectError(
      `message size ${length} is larger than configured readMaxBytes ${readMaxBytes}`,
      Code.ResourceExhausted,
    );
  }

  function take(bytes: Buffer): void {
    if (message) throw malformed(`received extra input message for ${kind} method`);
    message = { flags: bytes.readUInt8(0), data: bytes.subarray(prefixBytes) };
  }

  /** Doubles the capacity, so that many small chunks are copied about twice. */
  function append(chunk: Buffer): void {
    if (used + chunk.length > buffered.length) {
      const grown = Buffer.allocUnsafe(Math.max(used + chunk.length, 2 * buffered.length));
      buffered.copy(grown, 0, 0, used);
      buffered = grown;
    }
    chunk.copy(buffered, used);
    used += chunk.length;
  }

  function end(): EnvelopedMessage {
    if (used > 0) {
      throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
    }
    if (!message) throw malformed(`missing input message for ${kind} method`);
    return message;
  }

  return { push, end };
}

const malformed = (problem: string) =>
  new ConnectError(`protocol error: ${problem}`, Code.Unimplemented);
