/** Streams of messages that can be sent and read again. */
import type { DescMessage, DescMethodStreaming } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  type StreamResponse,
} from "@connectrpc/connect";

type MakeInput = () => AsyncIterable<unknown>;

/** Makes the messages of an upload anew for each try; without it, they are sent once. */
export const freshInputKey = createContextKey<MakeInput | undefined>(undefined, {
  description: "makes the messages of an upload",
});

/** The messages that a call sends. */
interface Input<T> {
  /** The only message of a server stream. */
  readonly first: T | undefined;
  all(): AsyncIterable<T>;
  /** Whether `all` can be sent from the start. */
  isWhole(): boolean;
}

/** Makes the input of a call repeatable, where that is possible. */
export async function repeatableInput<T>(
  { methodKind }: DescMethodStreaming,
  input: AsyncIterable<T>,
  contextValues: ContextValues | undefined,
): Promise<Input<T>> {
  if (methodKind === "server_streaming") {
    const result = await input[Symbol.asyncIterator]().next();
    const messages = result.done ? [] : [result.value];
    return { first: messages[0], all: () => iterate(messages), isWhole: () => true };
  }
  const makeInput = contextValues?.get(freshInputKey) as (() => AsyncIterable<T>) | undefined;
  if (makeInput) return { first: undefined, all: makeInput, isWhole: () => true };
  let isWhole = true;
  async function* all(): AsyncGenerator<T> {
    isWhole = false;
    yield* input;
  }
  return { first: undefined, all, isWhole: () => isWhole };
}

async function* iterate<T>(messages: readonly T[]): AsyncGenerator<T> {
  yield* messages;
}

/**
 * Waits for the first message of a stream, or for its end, and for the end of one that has a single
 * message. Throws the error that comes instead, so that the call can still be sent again. Calls
 * `onRejected` when a server ends the stream later, because it accepts the token no longer.
 */
export async function afterFirst<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
  onRejected: () => void,
): Promise<StreamResponse<I, O>> {
  const messages = response.message[Symbol.asyncIterator]();
  const read = [await messages.next()];
  if (response.method.methodKind === "client_streaming") read.push(await messages.next());
  const noteRejection = (error: unknown): never => {
    if (ConnectError.from(error).code === Code.Unauthenticated) onRejected();
    throw error;
  };
  const next = async () => read.shift() ?? messages.next().catch(noteRejection);
  return { ...response, message: { [Symbol.asyncIterator]: () => ({ next }) } };
}
