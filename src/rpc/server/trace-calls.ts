/** The outermost interceptor: a span for each call, under the caller's `traceparent`. */
import { Code, type Interceptor } from "@connectrpc/connect";
import { parseTraceparent, runInSpan, SpanKind, startSpan } from "../../app/ports/tracing.ts";
import { callKey } from "./calls.ts";
import { toConnectError } from "./errors.ts";

/** What OpenTelemetry's conventions count as errors of a server; others are its answers. */
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
  const method = `${req.method.parent.typeName}/${req.method.name}`;
  const span = startSpan(
    method,
    { kind: SpanKind.SERVER, attributes: { "rpc.method": method } },
    parseTraceparent(req.header.get("traceparent")),
  );
  const call = req.contextValues.get(callKey);
  if (call && span.isRecording()) call.traceId = span.spanContext().traceId;
  return runInSpan(
    span,
    () => next(req),
    (error) => {
      const { code } = toConnectError(error);
      span.setAttribute("rpc.response.status_code", Code[code]);
      return serverErrors.has(code) ? Code[code] : undefined;
    },
  );
};
