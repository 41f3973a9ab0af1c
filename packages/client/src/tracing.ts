/** A span for each call, in applications that trace by OpenTelemetry. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";

/** Runs a call, with all its tries, in a span. The span of a stream ends when the stream begins. */
export function traceCall<T>(method: DescMethod, call: () => Promise<T>): Promise<T> {
  const name = `${method.parent.typeName}/${method.name}`;
  const options = { kind: SpanKind.CLIENT, attributes: { "rpc.method": name } };
  return trace.getTracer("@meguri/client").startActiveSpan(name, options, async (span) => {
    try {
      return await call();
    } catch (error) {
      const code = Code[ConnectError.from(error).code];
      span.setAttributes({ "rpc.response.status_code": code, "error.type": code });
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The headers that lead the server to the span of the call. Empty where nothing is traced. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}
