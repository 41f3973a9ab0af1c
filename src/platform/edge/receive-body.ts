/** Receives the body of an admitted call: within its time, and counted while it is held. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { DomainError } from "../words/errors.ts";
import { receivedKey } from "./context.ts";
import { toConnectError } from "./errors.ts";
import { limitsOf, tooSlow } from "./method-limits.ts";

/** Whether a client sends a stream of messages. */
export const takesStream = ({ methodKind }: DescMethod): boolean =>
  methodKind === "client_streaming" || methodKind === "bidi_streaming";

/**
 * Yields the chunks of a body. The body of a call with one message has to arrive within the time of
 * its method; streams of messages have a limit from message to message instead. Throws
 * ConnectErrors of DEADLINE and OVERLOADED. Never ends the body early, which would close the
 * connection before the refusal is sent.
 */
export async function* receiveBody(
  body: AsyncIterable<Uint8Array>,
  method: DescMethod,
  values: ContextValues,
  limitMs = limitsOf(method).bodyTimeMs,
): AsyncGenerator<Uint8Array, void> {
  const received = values.get(receivedKey);
  const iterator = body[Symbol.asyncIterator]();
  const isStream = takesStream(method);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = isStream ? undefined : setTimeout(() => reject(tooSlow(method)), limitMs);
  try {
    for (;;) {
      const chunk = await (isStream ? iterator.next() : Promise.race([iterator.next(), late]));
      if (chunk.done) return;
      // The bytes before are in the message that is assembled, which has a limit of its own.
      if (isStream) received?.clear();
      received?.add(chunk.value.byteLength);
      yield chunk.value;
    }
  } catch (error) {
    throw error instanceof DomainError ? toConnectError(error) : error;
  } finally {
    clearTimeout(timer);
    received?.clear();
  }
}
