/** The span of a batch: one attempt to decide and commit calls together. */
import { runInSpan, SpanKind, startSpan } from "../ports/tracing.ts";
import type { Pending } from "./batch.ts";

/**
 * Runs an attempt in a span under the first traced call. The span and every call of the batch link
 * to each other, because a span has one parent only. Without a traced call there is no span.
 */
export function traceBatch(calls: readonly Pending[], attempt: () => Promise<void>): Promise<void> {
  const spans = calls.flatMap(({ span }) => span ?? []);
  const [first, ...others] = spans;
  if (!first) return attempt();
  const links = spans.map((span) => ({ context: span.spanContext() }));
  const attributes = { "meguri.batch.calls": calls.length };
  const options = { kind: SpanKind.INTERNAL, links, attributes };
  const batch = startSpan("commit", options, first.spanContext());
  for (const span of others) span.addLink({ context: batch.spanContext() });
  return runInSpan(batch, attempt);
}
