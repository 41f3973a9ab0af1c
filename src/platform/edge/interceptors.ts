/** The interceptors of an admitted call: errors and logs, the time limit, rules, permission. */
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { InvalidRequest } from "../messages/invalid-request.ts";
import type { Deps } from "../ports/deps.ts";
import { isSilent, maxSilenceMs } from "../ports/store-silence.ts";
import type { TargetOwners } from "../ports/target-owners.ts";
import { DomainError } from "../words/errors.ts";
import { toProgramId } from "../words/program-ids.ts";
import { authorize } from "./authorize.ts";
import { type Call, callKey } from "./calls.ts";
import { marginMs, maxTimeoutMs } from "./context.ts";
import { toConnectError } from "./errors.ts";
import { requireShortLists } from "./list-limits.ts";
import { noteRead, toMalformed } from "./malformed.ts";
import { limitsOf } from "./method-limits.ts";
import { endWithRight } from "./stream-rights.ts";
import { traceCalls } from "./trace-calls.ts";
import { requestValidator } from "./validator.ts";
import { describeViolations } from "./violation-texts.ts";

interface InterceptorDeps extends Pick<Deps, "storeSilenceMs"> {
  readonly owners: TargetOwners;
}

/** The interceptors of a call, the outermost first. */
export const interceptors = ({ owners, storeSilenceMs }: InterceptorDeps): Interceptor[] => [
  traceCalls,
  noteRead,
  mapErrors,
  limitTime(storeSilenceMs),
  refuseUnreadable,
  validate(),
  noteIds,
  authorize(owners),
  endWithRight(owners),
];

/** The interceptors of a call that needs no caller. */
export const publicInterceptors = (): Interceptor[] => [
  noteRead,
  mapErrors,
  // They do not ask the store.
  limitTime(() => 0),
  refuseUnreadable,
];

/** Maps errors to ConnectErrors, and notes the result of the call. */
const mapErrors: Interceptor = (next) => async (req) => {
  const call = req.contextValues.get(callKey);
  try {
    const response = await next(req);
    if (response.stream) return { ...response, message: untilEnd(response.message, call) };
    call?.note(undefined);
    return response;
  } catch (error) {
    call?.note(error);
    throw toConnectError(error);
  }
};

/** Passes the messages of a stream on. The result of the call is known when the stream ends. */
async function* untilEnd<T>(
  messages: AsyncIterable<T>,
  call: Call | undefined,
): AsyncGenerator<T, void> {
  try {
    yield* messages;
    call?.note(undefined);
  } catch (error) {
    call?.note(error);
    throw toConnectError(error);
  }
}

/**
 * Rejects a call when its deadline has passed, even if its handler still waits: Connect only aborts
 * the handler's signal. No call has more time than its method, and a stream has it until it begins.
 * While the store is silent, a call gets STORE_UNAVAILABLE soon, or a little before its deadline.
 */
const limitTime =
  (storeSilenceMs: Deps["storeSilenceMs"]): Interceptor =>
  (next) =>
  async (req) => {
    req.signal.throwIfAborted();
    const { promise: interrupted, reject } = Promise.withResolvers<never>();
    const stop = () => reject(req.signal.reason);
    const ownMs = timeoutMsIn(req.header);
    const { timeMs } = limitsOf(req.method);
    const isOwn = ownMs !== undefined && ownMs <= timeMs;
    const limitMs = isOwn ? ownMs - marginMs(ownMs) : timeMs;
    const end = performance.now() + limitMs;
    const watch = () => {
      const leftMs = end - performance.now();
      const silenceMs = storeSilenceMs();
      if (isSilent(silenceMs, leftMs > 0 ? undefined : limitMs)) reject(storeUnavailable());
      else if (leftMs > 0) timer = setTimeout(watch, Math.min(leftMs, maxSilenceMs - silenceMs));
      else if (!isOwn) reject(timeIsUp(limitMs));
    };
    let timer = setTimeout(watch, Math.min(limitMs, maxSilenceMs));
    req.signal.addEventListener("abort", stop);
    try {
      const response = await Promise.race([next(req), interrupted]);
      if (!response.stream) return response;
      return { ...response, message: throwIfAborted(req.signal, response.message) };
    } finally {
      clearTimeout(timer);
      req.signal.removeEventListener("abort", stop);
    }
  };

/** The time that a call has by its own header, in ms. */
const timeoutMsIn = (header: Headers): number | undefined =>
  parseGrpcTimeout(header.get("grpc-timeout"), maxTimeoutMs).timeoutMs ??
  parseConnectTimeout(header.get("connect-timeout-ms"), maxTimeoutMs).timeoutMs;

const storeUnavailable = () => new DomainError("STORE_UNAVAILABLE", "the store gave no answer");

/** The error of a call that took longer than its method's limit. */
export const timeIsUp = (limitMs: number) =>
  new DomainError("DEADLINE", `no answer within ${limitMs} ms; the change may still be stored`);

/** Passes a stream on and throws the reason of an aborted signal: its handler just returns. */
async function* throwIfAborted<T>(
  signal: AbortSignal,
  messages: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  try {
    yield* messages;
  } finally {
    signal.throwIfAborted();
  }
}

/** Refuses a message of a stream that cannot be read or is too large. */
const refuseUnreadable: Interceptor = (next) => (req) => {
  if (!req.stream) return next(req);
  return next({ ...req, message: readable(req.method, req.message) });
};

async function* readable<T>(
  method: DescMethod,
  requests: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  try {
    yield* requests;
  } catch (error) {
    throw toMalformed(error, method) ?? error;
  }
}

/** Notes what a valid request names, for the line of its call. */
const noteIds: Interceptor = (next) => (req) => {
  const call = req.contextValues.get(callKey);
  if (!call) return next(req);
  if (req.stream) return next({ ...req, message: notingIds(req.message, call) });
  noteIdsOf(req.message, call);
  return next(req);
};

async function* notingIds<T>(requests: AsyncIterable<T>, call: Call): AsyncGenerator<T, void> {
  for await (const request of requests) {
    noteIdsOf(request, call);
    yield request;
  }
}

/**
 * No ids of people, of what they own or do: a target may be named after its owner. An upload names
 * its bulk grant in the header, its first message.
 */
function noteIdsOf(request: unknown, call: Call): void {
  const { content } = request as { content?: { case?: string; value?: unknown } };
  const named = content?.case === "header" ? content.value : request;
  const { programId, eventId, reservationId, bulkGrantId } = named as Record<string, unknown>;
  const id = eventId || reservationId || bulkGrantId;
  if (typeof programId === "string") call.programId = toProgramId(programId);
  if (typeof id === "string") call.id = id;
}

/** Validates requests by the rules in their schema; a rule that cannot be evaluated is INTERNAL. */
function validate(): Interceptor {
  function check<D extends DescMessage>(schema: D, request: MessageShape<D>): void {
    requireShortLists(schema, request);
    const result = requestValidator.validate(schema, request);
    if (result.kind === "valid") return;
    if (result.kind === "error") throw result.error;
    throw new InvalidRequest(describeViolations(schema, request, result.violations));
  }

  async function* checkEach<D extends DescMessage>(
    schema: D,
    requests: AsyncIterable<MessageShape<D>>,
  ): AsyncGenerator<MessageShape<D>, void> {
    for await (const request of requests) {
      check(schema, request);
      yield request;
    }
  }

  return (next) => (req) => {
    const { input } = req.method;
    if (req.stream) return next({ ...req, message: checkEach(input, req.message) });
    check(input, req.message);
    return next(req);
  };
}
