/** Spans by the API of OpenTelemetry. Until a process installs an SDK, nothing is traced. */
import {
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { DomainError } from "../words/errors.ts";

export { type Span, SpanKind } from "@opentelemetry/api";

/** Version 00 of the W3C's Trace Context: 55 characters, with ids that are not all zeros. */
const traceparentForm = /^00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})$/;

/** Reads a header `traceparent`. Undefined for one that is missing or invalid. */
export function parseTraceparent(header: string | null | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparentForm.exec(header ?? "") ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return { traceId, spanId, traceFlags, isRemote: true };
}

/** The span that this code runs in, if it is recorded. */
export function activeSpan(): Span | undefined {
  const span = trace.getActiveSpan();
  return span?.isRecording() ? span : undefined;
}

/** The recorded span that this code runs in, as a header `traceparent`. */
export function activeTraceparent(): string | undefined {
  const span = activeSpan()?.spanContext();
  return span && `00-${span.traceId}-${span.spanId}-01`;
}

/** Links the active span to another one, which a header `traceparent` names. */
export function linkTo(header: string | undefined): void {
  const linked = parseTraceparent(header);
  if (linked) activeSpan()?.addLink({ context: linked });
}

/** Starts a span under a parent; without one, or under an invalid one, it begins a trace. */
export function startSpan(name: string, options: SpanOptions, parent?: SpanContext): Span {
  const under = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  return trace.getTracer("meguri").startSpan(name, options, under);
}

/** The type of an error in a span: its message may name people. */
const reasonOf = (error: unknown): string =>
  error instanceof DomainError ? error.reason : "INTERNAL";

/**
 * Runs code in a span and ends the span. Code of a span that is not recorded runs outside. An error
 * for which `typeOf` returns undefined counts as an answer.
 */
export const runInSpan = <T>(
  span: Span,
  run: () => Promise<T>,
  typeOf: (error: unknown) => string | undefined = reasonOf,
): Promise<T> => (span.isRecording() ? record(span, run, typeOf) : run());

async function record<T>(
  span: Span,
  run: () => Promise<T>,
  typeOf: (error: unknown) => string | undefined,
): Promise<T> {
  try {
    return await context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  } catch (error) {
    const type = typeOf(error);
    if (type !== undefined) {
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    throw error;
  } finally {
    span.end();
  }
}
