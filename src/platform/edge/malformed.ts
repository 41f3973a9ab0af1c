/** Refuses requests that cannot be read, such as JSON with an unknown field, as INVALID_REQUEST. */
import type { DescMethod } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { invalid } from "../messages/invalid-request.ts";
import { DomainError } from "../words/errors.ts";
import { callKey } from "./calls.ts";
import { clampDeadline } from "./clamp-deadline.ts";
import { toConnectError, unreadable } from "./errors.ts";
import { checkBody } from "./large-bodies.ts";
import { tooLarge } from "./method-limits.ts";
import { receiveBody } from "./receive-body.ts";
import { maxEchoed } from "./strict-json.ts";

/**
 * The refusal of a request that Connect could not read, or that is too large. Undefined for any
 * other error.
 */
export function toMalformed(error: unknown, method: DescMethod): DomainError | undefined {
  const { code, rawMessage, cause, details } = ConnectError.from(error);
  // Errors of our own have details, those of Connect have none.
  if (error instanceof DomainError || details.length > 0) return undefined;
  if (code === Code.ResourceExhausted) return tooLarge(method);
  const { input } = method;
  if (code !== Code.Internal && code !== Code.InvalidArgument && code !== Code.Unknown) {
    return undefined;
  }
  if (rawMessage.startsWith("parse binary")) {
    return unreadable(`the request is not a ${input.name} in the Protobuf format`);
  }
  const [, twice] = /: duplicate object key "(.*)"$/s.exec(String(cause)) ?? [];
  if (twice !== undefined) return invalid(twice.slice(0, maxEchoed), "is given twice");
  const isOurs = code !== Code.InvalidArgument;
  return unreadable(isOurs ? "the request cannot be read" : rawMessage.slice(0, maxEchoed));
}

/** The context of a call from its start until the interceptors get it. */
const unreadKey = createContextKey<HandlerContext | undefined>(undefined);

/** The refusal that a call gets without being read. */
const refusalKey = createContextKey<ConnectError | undefined>(undefined);

/** Has to be the last step of the request gate of the handlers that `refuseMalformed` gets. */
export function noteUnread(context: HandlerContext): void {
  context.values.set(unreadKey, context);
  const call = context.values.get(callKey);
  if (call) call.isAdmitted = true;
}

/** Has to be the first interceptor of every service: Connect has read a unary request by then. */
export const noteRead: Interceptor = (next) => (req) => {
  req.contextValues.set(unreadKey, undefined);
  return next(req);
};

/**
 * Makes the routes' handlers refuse what Connect cannot read. Connect reads a unary request before
 * the interceptors see it, and answers with an error of its own, which may be INTERNAL. Such a call
 * is answered by a second handler, whose gate throws the refusal: so every protocol has its form.
 */
export const refuseMalformed =
  (routes: (router: ConnectRouter) => void) =>
  (router: ConnectRouter): void => {
    routes(router);
    const refusing = createConnectRouter({
      requestGate: ({ values }) => {
        throw values.get(refusalKey);
      },
    });
    const services = new Set(router.handlers.map(({ service }) => service));
    for (const service of services) refusing.service(service, {});
    const refusals = new Map(refusing.handlers.map((handler) => [handler.requestPath, handler]));
    for (const [i, handler] of router.handlers.entries()) {
      const refuse = refusals.get(handler.requestPath) as UniversalHandler;
      router.handlers[i] = refusingMalformed(handler, refuse);
    }
  };

/** Whether a URL is UTF-8: what is not would be replaced without a word. */
function isUtf8Url(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

function refusingMalformed(handler: UniversalHandler, refuse: UniversalHandler): UniversalHandler {
  const { method } = handler;
  return Object.assign(async (request: UniversalServerRequest) => {
    const contextValues = request.contextValues ?? createContextValues();
    const received = request.body as AsyncIterable<Uint8Array>;
    const body = receiveBody(received, method, contextValues);
    const header = clampDeadline(request.header);
    const call = checkBody(method, { ...request, header, contextValues, body });
    const refuseAs = (refusal: DomainError | ConnectError) => {
      contextValues.get(callKey)?.note(refusal);
      contextValues.set(refusalKey, toConnectError(refusal));
      return refuse(call);
    };
    if (!isUtf8Url(request.url)) return refuseAs(unreadable("the URL is not UTF-8"));
    const response = handler(call);
    // Connect throws where its message for gRPC would quote half a surrogate pair of the request.
    await response.catch(() => undefined);
    const { signal } = contextValues.get(unreadKey) ?? {};
    const error = signal?.reason;
    // A request that breaks off after its deadline is late, whatever Connect has answered.
    const isLate = error instanceof ConnectError && error.code === Code.DeadlineExceeded;
    const refusal = isLate ? error : signal && toMalformed(error, method);
    if (refusal) return refuseAs(refusal);
    if (signal) contextValues.get(callKey)?.note(error);
    return response;
  }, handler);
}
