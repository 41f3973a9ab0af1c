/** Ends a stream of the server when its caller loses the right that the stream was opened by. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ContextValues, Interceptor } from "@connectrpc/connect";
import type { TargetOwners } from "../ports/target-owners.ts";
import { DomainError } from "../words/errors.ts";
import { requireLimits, requireScope } from "./authorize.ts";
import { authenticateAgainKey, identityKey, identityOf } from "./context.ts";

/**
 * How long after a check the next one comes; up to twice as long, so that streams of one token do
 * not all end, and are not all opened again, at one moment.
 */
const defaultCheckMs = 1_000;

/**
 * Asks again and again who calls, as admission did, and what the caller may do. A stream ends with
 * UNAUTHENTICATED when its token or certificate has expired or the key of its token was removed;
 * with PERMISSION_DENIED when the callers' file no longer has its certificate's URI, the scope of
 * the method, or what the request names. A handler finds the limits of the last check in the
 * context. Uploads are short, and are checked when they begin.
 */
export function endWithRight(owners: TargetOwners, checkMs = defaultCheckMs): Interceptor {
  return (next) => async (req) => {
    if (!req.stream || req.method.methodKind !== "server_streaming") return next(req);
    const requests: Message[] = [];
    const response = await next({ ...req, message: noted(req.message, requests) });
    if (!response.stream) return response;
    const check = createCheck(req.contextValues, req.method, requests, owners);
    return { ...response, message: untilLost(response.message, check, checkMs) };
  };
}

async function* noted<T extends Message>(
  messages: AsyncIterable<T>,
  seen: Message[],
): AsyncGenerator<T, void> {
  for await (const message of messages) {
    seen.push(message);
    yield message;
  }
}

/** Returns a function that throws what the same call would be refused with now. */
function createCheck(
  values: ContextValues,
  method: DescMethod,
  requests: readonly Message[],
  owners: TargetOwners,
): () => Promise<void> {
  let known = identityOf(values);
  return async () => {
    try {
      const identity = await values.get(authenticateAgainKey)();
      // Authenticators return the same object as long as nothing has changed.
      if (identity === known) return;
      requireScope(identity, method);
      for (const request of requests) await requireLimits(identity, method, request, owners);
      known = identity;
      values.set(identityKey, identity);
    } catch (error) {
      // A transient error, such as that of a store that does not answer, takes no right away.
      if (!(error instanceof DomainError && error.retryable)) throw error;
    }
  };
}

/** Passes messages on until `check` throws, and throws the same. */
async function* untilLost<T>(
  messages: AsyncIterable<T>,
  check: () => Promise<void>,
  checkMs: number,
): AsyncGenerator<T, void> {
  const iterator = messages[Symbol.asyncIterator]();
  let isOver = false;
  let lost: { readonly error: unknown } | undefined;
  let onLost: (error: unknown) => void = () => {};
  let timer = plan();

  function plan(): NodeJS.Timeout {
    return setTimeout(checkOnce, checkMs * (1 + Math.random()));
  }

  async function checkOnce(): Promise<void> {
    try {
      await check();
      if (!isOver) timer = plan();
    } catch (error) {
      lost = { error };
      onLost(error);
    }
  }

  /** The next message. Its promise ends with it, so that no earlier message stays referenced. */
  function nextMessage(): Promise<IteratorResult<T>> {
    if (lost) return Promise.reject(lost.error);
    return new Promise((resolve, reject) => {
      onLost = reject;
      iterator.next().then(resolve, reject);
    });
  }

  try {
    for (;;) {
      const result = await nextMessage();
      if (result.done) return;
      yield result.value;
    }
  } finally {
    isOver = true;
    clearTimeout(timer);
    // Not awaited: a handler that waits for a change returns when Connect aborts its signal.
    void iterator.return?.().catch(() => undefined);
  }
}
