/** Counts every call of a server, and logs it in one line, when its result is known. */
import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ConnectError, createContextKey } from "@connectrpc/connect";
import { type Logger, pino } from "pino";
import { describeError } from "../ports/described-errors.ts";
import { createCounter, createGauge, createHistogram } from "../ports/tallies.ts";
import { parseTraceparent } from "../ports/tracing.ts";
import { toConnectError } from "./errors.ts";
import { limitsOf } from "./method-limits.ts";
import { createSampler } from "./sampler.ts";

/** The header of every answer with the id that is in the line of its call. */
export const requestIdHeader = "x-request-id";

/** One call, from its headers to its result. */
export interface Call {
  readonly requestId: string;
  /** The service that calls, once it is known. */
  service: string;
  /** The caller's trace, or the one that began with the call; neither where nobody traces. */
  traceId: string | undefined;
  programId: string | undefined;
  /** The id that the caller has chosen, such as an event id. */
  id: string | undefined;
  /** Whether its body may be read. */
  isAdmitted: boolean;
  /** Whether a result was noted. */
  readonly hasResult: boolean;
  /** Notes the error of the call, `undefined` for a success. The call ends with it later. */
  note(error: unknown): void;
  /** Ends the call: with what was noted, or with this error. Only the first end counts. */
  end(error?: unknown): void;
}

/** The calls of a server. */
export interface Calls {
  readonly tallies: Readonly<ReturnType<typeof createTallies>>;
  /** Begins a call of a method; of none if there is no such method. */
  begin(method: DescMethod | undefined, traceparent: string | undefined): Call;
  /** Counts bytes of bodies that are held from now on; negative ones are not held any more. */
  hold(bytes: number): void;
}

/** The call that a context belongs to, set by the listeners. */
export const callKey = createContextKey<Call | undefined>(undefined, { description: "the call" });

/** The name by which calls of methods that do not exist are counted. */
const unknownMethod = "unknown";

/** Further services are counted as `other`. */
const maxServices = 100;

/** Codes that say that the server cannot do what it should. */
const warnings: readonly Code[] = [
  Code.Unavailable,
  Code.Internal,
  Code.Unknown,
  Code.ResourceExhausted,
  Code.DataLoss,
];

const createTallies = () => ({
  calls: createCounter("meguri_calls_total", "Calls by their reason, which is OK for a success.", [
    "method",
    "service",
    "reason",
  ]),
  seconds: createHistogram(
    "meguri_call_seconds",
    "Duration of calls, streams from their begin to their end.",
    ["method"],
  ),
  streams: createGauge("meguri_streams", "Open streams.", ["method"]),
  refusedBeforeBody: createCounter(
    "meguri_refused_before_body_total",
    "Calls that were refused by their headers, before a byte of their bodies was read.",
    ["reason"],
  ),
  bodyBytes: createGauge(
    "meguri_body_bytes_in_flight",
    "Bytes of bodies that wait for their rest.",
  ),
});

/** Methods are named as `meguri.points.v1.PointsService/GrantPoints`. */
export function createCalls(log: Logger = pino({ enabled: false })): Calls {
  const tallies = createTallies();
  const { calls, seconds, streams, refusedBeforeBody, bodyBytes } = tallies;
  const services = new Set<string>();
  const sample = createSampler();

  function serviceLabel(service: string): string {
    if (services.size < maxServices) services.add(service);
    return services.has(service) ? service : "other";
  }

  /** Logs a call. Those of an audited method are all logged, because their acts name them. */
  function logCall(
    method: DescMethod | undefined,
    error: ConnectError | undefined,
    fields: object,
    cause: unknown,
  ): void {
    if (error === undefined) {
      const sampleRate = method && limitsOf(method).isAudited ? 1 : sample();
      if (sampleRate > 0) log.info({ ...fields, ...(sampleRate < 1 && { sampleRate }) }, "call");
      return;
    }
    const { code } = error;
    const frames = code === Code.Internal ? { err: describeError(cause) } : {};
    if (code === Code.Canceled) log.debug(fields, "call");
    else if (warnings.includes(code)) log.warn({ ...fields, ...frames }, "call");
    else log.info(fields, "call");
  }

  return {
    tallies,
    hold: (bytes) => bodyBytes.inc(bytes),
    begin(method, traceparent) {
      const start = performance.now();
      const name = method ? `${method.parent.typeName}/${method.name}` : unknownMethod;
      const isStream = method !== undefined && method.methodKind !== "unary";
      if (isStream) streams.inc({ method: name });
      let noted: unknown;
      let hasResult = false;
      let isEnded = false;
      const call: Call = {
        requestId: randomUUID(),
        service: "",
        traceId: parseTraceparent(traceparent)?.traceId,
        programId: undefined,
        id: undefined,
        isAdmitted: false,
        get hasResult() {
          return hasResult;
        },
        note(error) {
          noted = error;
          hasResult = true;
        },
        end(failure = noted) {
          if (isEnded) return;
          isEnded = true;
          const ms = performance.now() - start;
          const error = failure === undefined ? undefined : toConnectError(failure);
          const reason = reasonOf(error);
          const { service, requestId, traceId, programId, id } = call;
          calls.inc({ method: name, service: serviceLabel(service), reason });
          seconds.observe({ method: name }, ms / 1_000);
          if (isStream) streams.dec({ method: name });
          if (error && !call.isAdmitted && error.code !== Code.Canceled) {
            refusedBeforeBody.inc({ reason });
          }
          const rounded = Math.round(ms * 10) / 10;
          const fields = { method: name, service, reason, ms: rounded, requestId };
          logCall(method, error, { ...fields, traceId, programId, id }, noted ?? failure);
        },
      };
      return call;
    },
  };
}

/** The reason of an error, or the name of its code if it has none. */
function reasonOf(error: ConnectError | undefined): string {
  if (error === undefined) return "OK";
  for (const detail of error.details) {
    if ("value" in detail && "reason" in detail.value) return String(detail.value.reason);
  }
  return Code[error.code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
