/** A span for each request to DynamoDB that is made for something traced. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { activeSpan, runInSpan, SpanKind, startSpan } from "../../ports/tracing.ts";

/** Traces each attempt of a client. Requests of background work, which has no span, have none. */
export function traceRequests(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next, { commandName = "" }) => {
      const operation = commandName.replace(/Command$/, "");
      const attributes = { "db.system.name": "aws.dynamodb", "db.operation.name": operation };
      return (args) => {
        const parent = activeSpan();
        if (!parent) return next(args);
        const options = { kind: SpanKind.CLIENT, attributes };
        const span = startSpan(operation, options, parent.spanContext());
        return runInSpan(
          span,
          () => next(args),
          (error) => (error instanceof Error ? error.name : "Error"),
        );
      };
    },
    // Within the retries of the SDK, and around the reading of the body.
    { step: "finalizeRequest", name: "meguriTraces", priority: "low" },
  );
}
