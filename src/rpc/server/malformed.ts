/** Refuses requests that cannot be read, such as JSON with an unknown field, as INVALID_REQUEST. */
import { type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { isFieldError } from "@bufbuild/protobuf/reflect";
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
import { DomainError } from "../../domain/errors.ts";
import { callKey } from "./calls.ts";
import { invalid, toConnectError } from "./errors.ts";
import { checkBody } from "./large-bodies.ts";
import { tooLarge } from "./method-limits.ts";
import { receiveBody } from "./receive-body.ts";
import { fitTimer } from "./timer-overflow.ts";

/** Longer names and texts of a request are cut, because clients limit the size of metadata. */
const maxEchoed = 100;

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
  if (cause instanceof Error && cause.message.startsWith("cannot decode")) {
    return fromJsonError(cause, input);
  }
  const isOurs = code !== Code.InvalidArgument;
  return unreadable(isOurs ? "the request cannot be read" : rawMessage.slice(0, maxEchoed));
}

const unreadable = (message: string) => new DomainError("INVALID_REQUEST", message);

/** The refusal for an error of `fromJson`, which names types only in its message. */
function fromJsonError(error: Error, input: DescMessage): DomainError {
  const field = isFieldError(error.cause) ? error.cause.field() : undefined;
  if (field?.kind === "oneof") {
    return invalid(field.name, `only one of ${field.fields.map(({ name }) => name).join(", ")}`);
  }
  if (field) return wrongType(input, (one) => one === field);
  if (error.cause instanceof SyntaxError) {
    const [place = ""] = / at position \d+ \(line \d+ column \d+\)/.exec(error.message) ?? [];
    return unreadable(`the request is not JSON${place && `: an error${place}`}`);
  }
  const [, typeName, text = ""] =
    /^cannot decode (?:message|enum) (\S+) from JSON: (.*)$/s.exec(error.message) ?? [];
  const [, key, what] = /^(?:key|duplicate object key) "(.*)"( is unknown)?$/s.exec(text) ?? [];
  if (key !== undefined) {
    const description = what ? `is not a field of ${shortName(typeName)}` : "is given twice";
    return invalid(key.slice(0, maxEchoed), description);
  }
  return wrongType(input, (one) => (one.message ?? one.enum)?.typeName === typeName);
}

/** The refusal of a value in one of these fields. A path is named only if it is the only one. */
function wrongType(input: DescMessage, isOne: (field: DescField) => boolean): DomainError {
  const places = placesIn(input).filter(({ field }) => isOne(field));
  const [first] = places;
  if (!first) return unreadable(`the request is not a ${input.name} as a JSON object`);
  const description = `has to be ${typeText(first.field)}`;
  if (places.length === 1) return invalid(first.path, description);
  return unreadable(`${places.map(({ path }) => path).join(" or ")}: ${description}`);
}

const shortName = (typeName = ""): string => typeName.split(".").at(-1) ?? "";

interface Place {
  readonly field: DescField;
  /** Such as `program.program_id`, or `reservations[].points`, since the index is not known. */
  readonly path: string;
}

/** All fields of a message and of the messages in it, none of which contains itself. */
function placesIn(message: DescMessage, prefix = ""): Place[] {
  return message.fields.flatMap((field) => {
    const path = prefix + field.name;
    const within = `${path}${field.fieldKind === "list" ? "[]" : ""}.`;
    const isOwn = field.message?.typeName.startsWith("meguri.");
    return [{ field, path }, ...(isOwn && field.message ? placesIn(field.message, within) : [])];
  });
}

/** How the value of a field has to look in JSON. */
function typeText({ message, enum: names, scalar, fieldKind }: DescField): string {
  if (fieldKind === "list") return "an array of the right type";
  if (names) return `one of ${names.values.map(({ name }) => name).join(", ")}`;
  if (message?.typeName === "google.protobuf.Timestamp") return "a time as 2026-01-01T00:00:00Z";
  if (message?.typeName === "google.protobuf.Duration") return "a duration as 1.5s";
  if (message?.typeName === "google.protobuf.FieldMask") {
    return "a text of field names in lowerCamelCase, with commas";
  }
  if (message) return "a JSON object";
  if (scalar === ScalarType.STRING) return "a string";
  if (scalar === ScalarType.BOOL) return "true or false";
  return scalar === ScalarType.BYTES ? "a string in base64" : "a whole number of its type";
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
      router.handlers[i] = orRefusal(handler, refuse);
    }
  };

function orRefusal(handler: UniversalHandler, refuse: UniversalHandler): UniversalHandler {
  const { method } = handler;
  return Object.assign(async (request: UniversalServerRequest) => {
    const contextValues = request.contextValues ?? createContextValues();
    const received = request.body as AsyncIterable<Uint8Array>;
    const body = receiveBody(received, method, contextValues);
    const header = fitTimer(request.header);
    const call = checkBody(method, { ...request, header, contextValues, body });
    const response = handler(call);
    // Connect throws where its message for gRPC would quote half a surrogate pair of the request.
    await response.catch(() => undefined);
    const { signal } = contextValues.get(unreadKey) ?? {};
    const error = signal?.reason;
    // A request that breaks off after its deadline is late, whatever Connect has answered.
    const isLate = error instanceof ConnectError && error.code === Code.DeadlineExceeded;
    const refusal = isLate ? error : signal && toMalformed(error, method);
    if (signal) contextValues.get(callKey)?.note(refusal ?? error);
    if (!refusal) return response;
    contextValues.set(refusalKey, toConnectError(refusal));
    return refuse(call);
  }, handler);
}
