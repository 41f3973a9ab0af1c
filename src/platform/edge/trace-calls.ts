/** The outermost interceptor: a span for each call, under the caller's `traceparent`. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { parseTraceparent, runInSpan, type Span, SpanKind, startSpan } from "../ports/tracing.ts";
import { type Call, callKey } from "./calls.ts";
import { toConnectError } from "./errors.ts";

/** The codes that OpenTelemetry's conventions count as errors of a server. */
const serverErrors: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/**
 * Sampling follows the flag of the caller's header. A call that is not sampled runs as without
 * tracing. The span of a stream ends when the stream begins.
 */
export const traceCalls: Interceptor = (next) => (req) => {
  const span = startCallSpan(req.method, req.header, req.contextValues.get(callKey));
  return runInSpan(
    span,
    () => next(req),
    (error) => noteCode(span, error),
  );
};

/** Records a call that was refused before the interceptors. Rejects with the error. */
export const traceRefusal = (
  { method, requestHeader, values }: HandlerContext,
  error: unknown,
): Promise<never> => {
  const span = startCallSpan(method, requestHeader, values.get(callKey));
  return runInSpan(
    span,
    () => Promise.reject(error),
    () => noteCode(span, error),
  );
};

function startCallSpan(
  { parent, name }: DescMethod,
  header: Headers,
  call: Call | undefined,
): Span {
  const method = `${parent.typeName}/${name}`;
  const span = startSpan(
    method,
    { kind: SpanKind.SERVER, attributes: { "rpc.method": method } },
    parseTraceparent(header.get("traceparent")),
  );
  if (call && span.isRecording()) call.traceId = span.spanContext().traceId;
  return span;
}

/** Notes the code of an error. Returns its name if it is an error of the server. */
function noteCode(span: Span, error: unknown): string | undefined {
  const { code } = toConnectError(error);
  span.setAttribute("rpc.response.status_code", Code[code]);
  return serverErrors.has(code) ? Code[code] : undefined;
}
