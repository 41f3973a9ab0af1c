/** A collector of spans on loopback: takes OTLP/HTTP as JSON, as the exporter sends it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A span as OTLP spells it. An event has a name and attributes. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
  }[];
}

export interface Collector {
  /** The value of `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  /** All spans so far. */
  readonly spans: readonly ReceivedSpan[];
  stop(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as Export;
    for (const { scopeSpans } of resourceSpans) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    response.setHeader("content-type", "application/json").end("{}");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
